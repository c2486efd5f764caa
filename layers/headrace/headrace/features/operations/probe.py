"""The stream ``probe``: each minute the stage sends one event through each persist queue, to check the main lane.

Probes are stored in the table of messages, so that they fail when messages do. Clients never see them: the id of their
room contains ``#``, which no client's id may. Without ``userId`` and ``bucketId`` they are in no index and no count.
"""

from __future__ import annotations

from typing import Any

from pydantic import Field

from headrace.core import keys, times
from headrace.core.caller import OPS
from headrace.core.errors import InvalidEvent
from headrace.core.fields import CanonicalTime, EventModel, Id, stamped
from headrace.core.items import Item
from headrace.core.sender import Incoming, ValidatedEvent
from headrace.core.stream import Stream, TableSettings
from headrace.streams.chat.stream import CHAT

RETENTION = times.DAY
EVENT_ID = "probe"
_SENDER_TAG = keys.sender_tag(EVENT_ID)


class StampedProbe(EventModel):
    """A probe in an envelope. Both fields are in its key, so a repeated probe is the same row."""

    queue: Id = Field(description="the name of a persist queue")
    minute: CanonicalTime = Field(description="a whole minute, UTC")


_stamped = stamped(StampedProbe)


def probe(queue: str, minute: str) -> dict[str, Any]:
    """The event that goes through ``queue`` in ``minute`` (a canonical time)."""
    return {"queue": queue, "minute": minute}


def accept(_raw: object, _sender: object) -> ValidatedEvent:
    """Raise InvalidEvent, because clients may not send probes."""
    raise InvalidEvent("probes are sent by the stage itself")


def probe_room(queue: str) -> str:
    """The partition key of the probes of one persist queue; no room id contains ``#``."""
    return f"#probe#{queue}"


def item(event: dict[str, Any], accepted_at: int, _table: TableSettings) -> Item:
    """The row of a probe. It expires after a day, however long messages are kept."""
    found = _stamped(event)
    return {
        "roomId": probe_room(found.queue),
        "timestampSk": keys.timestamp_sk(found.minute, EVENT_ID, _SENDER_TAG),
        "timestamp": found.minute,
        "expiresAt": (accepted_at + RETENTION) // times.SECOND,
    }


STREAM = PROBE = Stream(
    name="probe",
    id_field="minute",
    write_scope=OPS,
    sent=lambda: Incoming(accept),
    item=item,
    table_setting=CHAT.table_setting,
    retention_setting=CHAT.retention_setting,
    partition_key=CHAT.partition_key,
    sort_key=CHAT.sort_key,
)
