"""Parses records of both lanes: what an SQS record holds, and the rows of any record, or why it is poison.

No other code validates records, so a dead letter that is inspected has the reason for which it could not be stored.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from headrace.core import items, times
from headrace.core.envelope import CORRELATION_ID, Envelope, correlation_attribute, decode
from headrace.core.errors import PoisonRecord, echo
from headrace.core.items import Item
from headrace.core.stream import Stream, TableSettings
from headrace.queues.sqs import ENCODING, from_text
from headrace.stage.registry import STREAMS

ATTEMPTS = "attempts"
"""The attribute of an SQS record that counts earlier tries, which SQS does not count."""
THROTTLED_SINCE = "throttledSince"
"""The attribute of an SQS record that waits for a throttling table: when it began to wait."""
UNKNOWN_STREAM = "unknown"
"""The stream of a record that cannot be read, in metrics and among dead letters."""


@dataclass(frozen=True, slots=True)
class Row:
    """One event of a record: the item of its ``kind``, or why it can never be stored."""

    event: dict[str, Any]
    kind: str
    item: Item | None
    poison: PoisonRecord | None = None


@dataclass(frozen=True, slots=True)
class Record:
    """A record that was parsed, with a row per event."""

    stream: Stream
    envelope: Envelope
    rows: tuple[Row, ...]

    @property
    def correlation_id(self) -> str:
        """The correlation id of its request; at most 64 characters of it, since a record may come from anywhere."""
        return self.envelope.correlation_id[:64]


def sqs_body(record: Mapping[str, Any]) -> bytes:
    """The bytes of an SQS record, as they were sent to the retry queue.

    Raises:
        PoisonRecord: not_base64.
    """
    return from_text(str(record["body"]), sqs_attributes(record).get(ENCODING))


def sqs_attributes(record: Mapping[str, Any]) -> dict[str, str]:
    """The texts among the attributes of an SQS record."""
    given = record.get("messageAttributes", {}).items()
    return {name: value["stringValue"] for name, value in given if "stringValue" in value}


def sqs_correlation_id(record: Mapping[str, Any]) -> str:
    """The correlation id in the attributes of an SQS record; empty for an unusable one."""
    return correlation_attribute(sqs_attributes(record).get(CORRELATION_ID)).get(CORRELATION_ID, "")


def receives(raw: Mapping[str, Any]) -> int:
    """How often SQS has delivered this record, this time included."""
    return max(1, int(raw.get("attributes", {}).get("ApproximateReceiveCount", "1")))


def attempts(attributes: Mapping[str, str]) -> int:
    """The tries of an SQS record before it was sent as this message."""
    given = attributes.get(ATTEMPTS, "0")
    return int(given) if given.isascii() and given.isdigit() and len(given) < 10 else 0


def rows_of(body: bytes, tables: Mapping[str, TableSettings]) -> Record:
    """The rows of the events in ``body``; ``tables`` are by stream name.

    Raises:
        PoisonRecord: the record as a whole can never be stored.
    """
    envelope = decode(body)
    stream = STREAMS.get(envelope.stream)
    if stream is None:
        raise PoisonRecord("unknown_stream", f"no stream is named {echo(envelope.stream)}")
    accepted_at = times.micros_of(envelope.accepted_at)
    table = tables[stream.name]
    return Record(stream, envelope, tuple(_row(stream, event, accepted_at, table) for event in envelope.events))


def _row(stream: Stream, event: dict[str, Any], accepted_at: int, table: TableSettings) -> Row:
    name = stream.name
    try:
        kind = stream.kind_of(event)
        if kind is None:
            item = stream.item(event, accepted_at, table)
        else:
            name, item = kind.name, kind.item(event, accepted_at, table)
        items.check(item, stream.partition_key, stream.sort_key)
    except PoisonRecord as error:
        return Row(event, name, None, error)
    return Row(event, name, item)
