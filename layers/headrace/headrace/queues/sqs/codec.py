"""Records as text that SQS takes: any bytes are encoded, and marked if they are."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from typing import Any

from headrace.core.errors import PoisonRecord
from headrace.queues.ports import CORRELATION_ID, RetryRecord

MESSAGE_BYTES = 1024 * 1024
"""The most that one SQS message, and one batch of them, may hold: bodies and attributes."""
ENCODING = "encoding"
BASE64 = "base64"
_REFUSED_BY_SQS = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def to_text(record: RetryRecord) -> tuple[str, dict[str, str]]:
    """The body and attributes as SQS accepts them: bytes that it would refuse are encoded as base64 and marked.

    The body of a record that is marked already is not encoded again, so that invalid base64 remains recognizable.
    """
    try:
        text = record.body.decode()
    except UnicodeDecodeError:
        text = None
    if not text or _REFUSED_BY_SQS.search(text):
        return base64.b64encode(record.body).decode() or "=", {**record.attributes, ENCODING: BASE64}
    return text, dict(record.attributes)


def message_bytes(body: str, attributes: Mapping[str, str]) -> int:
    """The size of a message as SQS counts it; an attribute's type, ``String``, counts too."""
    return len(body.encode()) + sum(len(name) + len(value.encode()) + 6 for name, value in attributes.items())


def fits(record: RetryRecord) -> bool:
    """Whether ``record`` is small enough for SQS."""
    return message_bytes(*to_text(record)) <= MESSAGE_BYTES


def from_text(body: str, encoding: str | None) -> bytes:
    """The bytes that :func:`to_text` was given.

    Raises:
        PoisonRecord: not_base64.
    """
    if encoding != BASE64:
        return body.encode("utf-8", "surrogatepass")
    try:
        return b"" if body == "=" else base64.b64decode(body, validate=True)
    except ValueError:
        raise PoisonRecord("not_base64") from None


def sqs_correlation_id(record: Mapping[str, Any]) -> str:
    """The correlation id in the attributes of a record of Lambda's SQS event; empty for one without."""
    return str(record.get("messageAttributes", {}).get(CORRELATION_ID, {}).get("stringValue", ""))
