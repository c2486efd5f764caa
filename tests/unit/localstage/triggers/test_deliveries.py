"""Deliveries that are read from a connection's bytes."""

import pytest
from pika import frame
from pika.spec import Basic, BasicProperties

from localstage.triggers.deliveries import read

PROPERTIES = BasicProperties("application/json", correlation_id="request-1", delivery_mode=2)


def delivery(tag: int, *parts: bytes) -> bytes:
    method = Basic.Deliver("consumer", tag, False, "headrace.events", "persist.chat.0")
    header = frame.Header(1, sum(map(len, parts)), PROPERTIES)
    return b"".join(each.marshal() for each in (frame.Method(1, method), header, *(frame.Body(1, p) for p in parts)))


def test_a_delivery_waits_for_its_last_byte() -> None:
    data = delivery(1, b"one", b"two")

    assert [read(bytearray(data[:length]), 0) for length in range(len(data))] == [None] * len(data)


@pytest.mark.parametrize("other", [frame.Heartbeat(), frame.Method(1, Basic.Cancel("consumer"))])
def test_other_frames_are_left_to_pika_whole(other: frame.Frame) -> None:
    data = other.marshal()

    assert read(bytearray(data + delivery(1, b"one")), 0) == (None, len(data))
