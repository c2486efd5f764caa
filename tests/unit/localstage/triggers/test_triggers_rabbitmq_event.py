"""The event of the RabbitMQ trigger has the shape that Lambda gives it."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from aws_lambda_powertools.utilities.data_classes.rabbit_mq_event import RabbitMQEvent
from hypothesis import given
from hypothesis import strategies as st
from pika import BasicProperties

from localstage.triggers.rabbitmq_event import build_event, build_record, event_size, event_start, human_time

START = event_start("persist.0", "/", "arn:aws:mq:us-east-1:123456789012:broker:local:b-1")


def record(body: bytes = b"hello", *, redelivered: bool = False, **properties: Any) -> dict[str, Any]:
    return json.loads(build_record(BasicProperties(**properties), body, redelivered=redelivered))


def test_an_event_holds_its_records_under_queue_and_virtual_host():
    records = [build_record(BasicProperties(message_id=str(i)), b"%d" % i, redelivered=i > 0) for i in range(2)]

    event = RabbitMQEvent(json.loads(build_event(START, records)))

    assert event.event_source == "aws:rmq"
    messages = event.rmq_messages_by_queue["persist.0::/"]
    assert [message.decoded_data for message in messages] == ["0", "1"]
    assert [message.redelivered for message in messages] == [False, True]
    assert [message.basic_properties.message_id for message in messages] == ["0", "1"]


def test_properties_that_were_not_sent_are_null():
    properties = record(b"Hello World 1")["basicProperties"]

    assert properties.pop("bodySize") == 13
    assert list(properties) == [
        *("contentType", "contentEncoding", "headers", "deliveryMode", "priority", "correlationId", "replyTo"),
        *("expiration", "messageId", "timestamp", "type", "userId", "appId", "clusterId"),
    ]
    assert set(properties.values()) == {None}


@pytest.mark.parametrize(
    ("value", "shaped"),
    [
        ("value1", {"bytes": [118, 97, 108, 117, 101, 49]}),
        ("ñ", {"bytes": [-61, -79]}),
        (b"\xff\x00", {"bytes": [-1, 0]}),
        (10, 10),
        (-(2**40), -(2**40)),
        (True, True),
        (None, None),
        (Decimal("1.5"), 1.5),
        (Decimal("2"), 2),
        (datetime(1970, 1, 1, 0, 33, 41, tzinfo=UTC), "Jan 1, 1970, 12:33:41 AM"),
        ({"inner": "a", "list": [1, "b"]}, {"inner": {"bytes": [97]}, "list": [1, {"bytes": [98]}]}),
        ([], []),
        ({}, {}),
    ],
)
def test_a_header_value_has_the_shape_that_lambda_gives_it(value: Any, shaped: Any):
    assert record(headers={"h": value})["basicProperties"]["headers"] == {"h": shaped}


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "Jan 1, 1970, 12:00:00 AM"),
        (2021, "Jan 1, 1970, 12:33:41 AM"),
        (43_200, "Jan 1, 1970, 12:00:00 PM"),
        (1_688_261_434, "Jul 2, 2023, 1:30:34 AM"),
        (253_402_300_799, "Dec 31, 9999, 11:59:59 PM"),
        (1_763_719_258_722, "1763719258722"),
    ],
)
def test_a_timestamp_has_the_text_form_of_lambda(seconds: int, text: str):
    assert human_time(seconds) == text
    assert record(timestamp=seconds)["basicProperties"]["timestamp"] == text


@given(text=st.text(max_size=40), body=st.binary(max_size=100))
def test_any_text_and_any_body_is_preserved(text: str, body: bytes):
    built = record(body, message_id=text, content_type=text)

    assert built["basicProperties"]["messageId"] == text
    assert built["basicProperties"]["contentType"] == text
    assert b64decode(built["data"]) == body


@given(st.lists(st.binary(max_size=50), max_size=5))
def test_the_size_is_known_before_the_event_is_built(bodies: list[bytes]):
    records = [build_record(BasicProperties(), body, redelivered=False) for body in bodies]

    assert len(build_event(START, records)) == event_size(START, len(records), sum(map(len, records)))


def test_data_is_plain_base64():
    assert record(b"\xff" * 4)["data"] == b64encode(b"\xff" * 4).decode()
