"""The event that Lambda builds from RabbitMQ deliveries, as JSON bytes.

Records are written piece by piece as they arrive, so that closing a batch of 6 MB is one join.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from json import dumps
from json.encoder import encode_basestring_ascii as quote
from typing import Any

from pika.spec import BasicProperties

EVENT_LIMIT = 6 * 1024 * 1024
"""Lambda's bound on one synchronous invocation: base64 and JSON included."""

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECONDS_TO_YEAR_10000 = 253_402_300_800
_END = b"]}}"


def event_start(queue: str, vhost: str, broker_arn: str) -> bytes:
    """Return the beginning of an event, up to its first record."""
    key = quote(f"{queue}::{vhost}")
    return f'{{"eventSource":"aws:rmq","eventSourceArn":{quote(broker_arn)},"rmqMessagesByQueue":{{{key}:['.encode()


def event_size(start: bytes, records: int, record_bytes: int) -> int:
    """Return the length of an event with ``records`` records of ``record_bytes`` bytes together."""
    return len(start) + record_bytes + max(records - 1, 0) + len(_END)


def build_event(start: bytes, records: Iterable[bytes]) -> bytes:
    """Return the whole event."""
    return b"".join((start, b",".join(records), _END))


def build_record(properties: BasicProperties, body: bytes, *, redelivered: bool) -> bytes:
    """Return one entry of ``rmqMessagesByQueue`` with every property that Lambda passes on."""
    head = (
        f'{{"basicProperties":{{"contentType":{_text(properties.content_type)},'
        f'"contentEncoding":{_text(properties.content_encoding)},"headers":{_headers(properties.headers)},'
        f'"deliveryMode":{_number(properties.delivery_mode)},"priority":{_number(properties.priority)},'
        f'"correlationId":{_text(properties.correlation_id)},"replyTo":{_text(properties.reply_to)},'
        f'"expiration":{_text(properties.expiration)},"messageId":{_text(properties.message_id)},'
        f'"timestamp":{_time(properties.timestamp)},"type":{_text(properties.type)},'
        f'"userId":{_text(properties.user_id)},"appId":{_text(properties.app_id)},'
        f'"clusterId":{_text(properties.cluster_id)},"bodySize":{len(body)}}},'
        f'"redelivered":{"true" if redelivered else "false"},"data":"'
    )
    return b"".join((head.encode(), b64encode(body), b'"}'))


def human_time(seconds: int) -> str:
    """Return ``Jan 1, 1970, 12:33:41 AM`` for seconds since 1970: UTC, English, twelve hours.

    A value that is no time before the year 10000 (some senders use milliseconds) is returned as its digits.
    """
    if not 0 <= seconds < _SECONDS_TO_YEAR_10000:
        return str(seconds)
    time = _EPOCH + timedelta(seconds=seconds)
    half = "AM" if time.hour < 12 else "PM"
    month = _MONTHS[time.month - 1]
    return f"{month} {time.day}, {time.year}, {time.hour % 12 or 12}:{time.minute:02}:{time.second:02} {half}"


def _text(value: str | bytes | None) -> str:
    if value is None:
        return "null"
    # pika returns the raw bytes of a short string that is not UTF-8.
    return str(quote(value if isinstance(value, str) else value.decode("utf-8", "replace")))


def _number(value: int | None) -> str:
    return "null" if value is None else str(value)


def _time(value: int | None) -> str:
    return "null" if value is None else f'"{human_time(value)}"'


def _headers(headers: Mapping[Any, Any] | None) -> str:
    # A message without headers has null here, not an empty object.
    return dumps(_plain(headers), separators=(",", ":")) if headers is not None else "null"


def _plain(value: Any) -> Any:
    """Return a header value as JSON can hold it, in Lambda's form.

    Lambda's consumer is Java: a string is an object around an array of bytes, and Java's bytes are signed
    (aws/aws-lambda-dotnet#1476 has the same for Kafka's headers). UNCONFIRMED for RabbitMQ beyond ASCII; code that
    masks each number with 0xFF reads either form.
    """
    if isinstance(value, str):
        return {"bytes": _signed(value.encode())}
    if isinstance(value, bytes):
        # pika gives bytes for a byte array and for a string that is not UTF-8; the second is far more common.
        return {"bytes": _signed(value)}
    if isinstance(value, dict):
        return {_key(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [_plain(entry) for entry in value]
    if isinstance(value, datetime):
        return human_time(int(value.timestamp()))
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    return value


def _key(key: str | bytes) -> str:
    return key if isinstance(key, str) else key.decode("utf-8", "replace")


def _signed(value: bytes) -> list[int]:
    return [byte - 256 if byte > 127 else byte for byte in value]
