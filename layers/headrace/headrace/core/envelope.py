"""Encodes and decodes envelopes, the messages on the broker and in SQS: events of one stream as versioned JSON.

``{"v": 1, "stream", "correlationId", "acceptedAt", "events": [...]}``, in ASCII: SQS refuses most control
characters, and JSON escapes them all.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from headrace.core import json
from headrace.core.collections import groups
from headrace.core.errors import FieldError, PoisonRecord, echo
from headrace.core.json import encode_ascii
from headrace.core.times import is_canonical

VERSION = 1
MAX_EVENTS = 100
MAX_BYTES = 256 * 1024
_HEADER_BYTES = 4096
CORRELATION_ID = "correlationId"
"""The attribute of a record with the correlation id of its request: known before the record is read."""
_CORRELATION_ID = re.compile("[!-~]{1,64}")


@dataclass(frozen=True, slots=True)
class Envelope:
    """Events of one stream; ``accepted_at`` is a canonical time, ``events`` are stamped events as JSON objects."""

    stream: str
    correlation_id: str
    accepted_at: str
    events: Sequence[dict[str, Any]]

    def encode(self) -> bytes:
        """The body of a message to the broker or to SQS; ASCII only."""
        return _wrap(self, [encode_ascii(event) for event in self.events])


@dataclass(frozen=True, slots=True)
class EncodedEnvelope:
    """An encoded envelope, and the indexes of its events among those that were packed."""

    body: bytes
    indexes: Sequence[int]


def pack(envelope: Envelope) -> list[EncodedEnvelope]:
    """``envelope`` as bodies of at most 100 events and 256 KB each, in order; a larger event has its own body."""
    encoded = [encode_ascii(event) for event in envelope.events]
    sized = ((index, len(text) + 1) for index, text in enumerate(encoded))
    parts = groups(sized, MAX_EVENTS, MAX_BYTES - _HEADER_BYTES)
    return [EncodedEnvelope(_wrap(envelope, [encoded[index] for index in part]), part) for part in parts]


def _wrap(envelope: Envelope, events: Sequence[str]) -> bytes:
    stream, correlation_id = encode_ascii(envelope.stream), encode_ascii(envelope.correlation_id)
    head = f'"v":{VERSION},"stream":{stream},"correlationId":{correlation_id},"acceptedAt":"{envelope.accepted_at}"'
    return f'{{{head},"events":[{",".join(events)}]}}'.encode()


def decode(body: bytes | str) -> Envelope:
    """The envelope in ``body``. Its events are JSON objects; their stream validates them one by one.

    Raises:
        PoisonRecord: not_text, not_json, not_an_envelope, newer_version, missing_field or no_events.
    """
    content = _parse(body)
    if not isinstance(content, dict):
        raise PoisonRecord("not_an_envelope", "the body is JSON, but not an object")
    version = content.get("v")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise PoisonRecord("not_an_envelope", "the envelope has no version")
    if version > VERSION:
        raise PoisonRecord("newer_version", f"the envelope is of version {echo(version)}, this code reads {VERSION}")
    stream, accepted_at, events = _text(content, "stream"), _text(content, "acceptedAt"), content.get("events")
    if not is_canonical(accepted_at):
        raise PoisonRecord("invalid_event", details=[FieldError("acceptedAt", "not a time", echo(accepted_at))])
    if events is None:
        raise PoisonRecord("missing_field", details=[FieldError("events", "is missing")])
    if not isinstance(events, list) or not all(isinstance(event, dict) for event in events):
        raise PoisonRecord("not_an_envelope", "the envelope's events are not an array of objects")
    if not events:
        raise PoisonRecord("no_events")
    return Envelope(stream, _text(content, "correlationId"), accepted_at, events)


def _parse(body: bytes | str) -> Any:
    try:
        text = body.decode() if isinstance(body, bytes) else body
    except UnicodeDecodeError:
        raise PoisonRecord("not_text") from None
    try:
        return json.decode(text)
    except (ValueError, RecursionError):
        raise PoisonRecord("not_json") from None


def _text(content: dict[str, Any], field: str) -> str:
    value = content.get(field)
    if value is None:
        raise PoisonRecord("missing_field", details=[FieldError(field, "is missing")])
    if not isinstance(value, str):
        raise PoisonRecord("not_an_envelope", f"the envelope's {field} is not a text")
    return value


def correlation_attribute(correlation_id: object) -> dict[str, str]:
    """The attribute of a record for the retry lane; none for an id that SQS may refuse, which only strangers write."""
    if isinstance(correlation_id, str) and _CORRELATION_ID.fullmatch(correlation_id):
        return {CORRELATION_ID: correlation_id}
    return {}
