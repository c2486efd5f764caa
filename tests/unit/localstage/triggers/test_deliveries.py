"""Deliveries that are read from a connection's bytes."""

import pytest
from pika import frame
from pika.exceptions import InvalidFrameError
from pika.spec import Basic, BasicProperties

from localstage.triggers.deliveries import Delivery, read

PROPERTIES = BasicProperties("application/json", correlation_id="request-1", delivery_mode=2)


def delivery(tag: int, *parts: bytes) -> bytes:
    method = Basic.Deliver("consumer", tag, False, "headrace.events", "persist.chat.0")
    header = frame.Header(1, sum(map(len, parts)), PROPERTIES)
    return b"".join(each.marshal() for each in (frame.Method(1, method), header, *(frame.Body(1, p) for p in parts)))


def whole(data: bytes) -> Delivery:
    found = read(bytearray(data), 0)
    assert found is not None
    assert found[0] is not None
    assert found[1] == len(data)
    return found[0]


def test_a_body_in_several_frames_is_joined_and_an_empty_one_has_none() -> None:
    assert whole(delivery(1, b"one", b"two", b"three")).body == b"onetwothree"
    assert whole(delivery(1)).body == b""


def test_a_delivery_waits_for_its_last_byte() -> None:
    data = delivery(1, b"one", b"two")

    assert [read(bytearray(data[:length]), 0) for length in range(len(data))] == [None] * len(data)


@pytest.mark.parametrize("other", [frame.Heartbeat(), frame.Method(1, Basic.Cancel("consumer"))])
def test_other_frames_are_left_to_pika_whole(other: frame.Frame) -> None:
    data = other.marshal()

    assert read(bytearray(data + delivery(1, b"one")), 0) == (None, len(data))


@pytest.mark.parametrize("frames", [1, 2])
def test_a_delivery_that_another_frame_cuts_off_ends_the_connection(frames: int) -> None:
    method = Basic.Deliver("consumer", 1, False, "headrace.events", "persist.chat.0")
    sent = (frame.Method(1, method), frame.Header(1, 3, PROPERTIES))
    begun = b"".join(each.marshal() for each in sent[:frames])

    with pytest.raises(InvalidFrameError, match="is missing"):
        read(bytearray(begun + frame.Heartbeat().marshal() + delivery(2, b"two")), 0)


def test_bytes_that_are_no_frame_end_the_connection() -> None:
    with pytest.raises(InvalidFrameError):
        read(bytearray(delivery(1, b"one")[:-1] + b"x"), 0)
