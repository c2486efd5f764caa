"""What the retry lane promises, and how any bytes travel through it."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from headrace.core.errors import PoisonRecord, RetryLaneUnavailable

MESSAGE_BYTES = 1024 * 1024
"""What one SQS message, and one batch of them, may hold: body and attributes."""

ENCODING = "encoding"
BASE64 = "base64"

_REFUSED_BY_SQS = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, slots=True)
class Handover:
    """One record for the retry lane: any bytes, and attributes for whoever looks at it later."""

    body: bytes
    attributes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Postponement:
    """A received record to be seen again after ``seconds`` (0: at once)."""

    receipt: str
    seconds: int


class RetryLane(Protocol):
    """Takes records that are to be tried again, and gives them back later."""

    def send(self, records: Sequence[Handover]) -> list[RetryLaneUnavailable | None]:
        """One outcome per record, in order: ``None`` when it is kept. Never raises for what the queue does."""
        ...

    def postpone(self, postponements: Sequence[Postponement]) -> None:
        """Change when records are seen again, as far as possible: what fails keeps the queue's own time."""
        ...

    def delete(self, receipts: Sequence[str]) -> None:
        """Take received records that are stored out of the queue, as far as possible: what fails may come again."""
        ...


def to_text(record: Handover) -> tuple[str, dict[str, str]]:
    """The body and attributes as SQS takes them: bytes that it would refuse travel as base64, marked so.

    A record that is marked already goes as it is: what claims to be base64 and is not stays recognizable.
    """
    try:
        text = record.body.decode()
    except UnicodeDecodeError:
        text = None
    if not text or _REFUSED_BY_SQS.search(text):
        return base64.b64encode(record.body).decode() or "=", {**record.attributes, ENCODING: BASE64}
    return text, dict(record.attributes)


def message_bytes(body: str, attributes: Mapping[str, str]) -> int:
    """What SQS counts of a message; an attribute's type, ``String``, counts too."""
    return len(body.encode()) + sum(len(name) + len(value.encode()) + 6 for name, value in attributes.items())


def fits(record: Handover) -> bool:
    """Whether SQS can ever take ``record``."""
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
    except (binascii.Error, ValueError):
        raise PoisonRecord("not_base64") from None
