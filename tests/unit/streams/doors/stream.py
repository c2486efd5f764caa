"""The stream ``doors``: doors that were opened."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from headrace.core import keys, times
from headrace.core.caller import EVENTS_WRITE, SenderContext, choose_time
from headrace.core.fields import CanonicalTime, Id, IncomingModel, SenderTag, Time, incoming, stamped
from headrace.core.items import Item, expires_at
from headrace.core.stream import Stream, TableSettings, ValidatedEvent


class Incoming(IncomingModel):
    """An opening of a door, as a client sends it."""

    door_id: Id = Field(description=keys.ID_FORM)
    opening_id: Id | None = Field(default=None, description=keys.ID_FORM)
    timestamp: Time | None = Field(default=None, description=times.ACCEPTED_FORM)


class Opening(Incoming):
    """An opening of a door, as it travels."""

    opening_id: Id = Field(description=keys.ID_FORM)
    timestamp: CanonicalTime = Field(description="a canonical UTC time with six digits")
    sender: SenderTag = Field(description="12 characters of base32")


_incoming, _stamped = incoming(Incoming), stamped(Opening)


def accept(raw: object, sender: SenderContext) -> ValidatedEvent:
    """Validate what a client sent, and stamp it with an id, a time and its sender."""
    opening = _incoming(raw)
    timestamp = choose_time(sender, "openingId", opening.opening_id, opening.timestamp)
    opening_id = opening.opening_id or times.new_message_id(sender.now)
    tag = keys.sender_tag(sender.subject)
    receipt = {"doorId": opening.door_id, "openingId": opening_id, "timestamp": timestamp}
    key = (opening.door_id, keys.timestamp_sk(timestamp, opening_id, tag))
    return ValidatedEvent({**receipt, "sender": tag}, opening_id, key, receipt)


def item(event: dict[str, Any], accepted_at: int, table: TableSettings) -> Item:
    """The row of a stamped event, which is validated again: a record may come from anywhere."""
    opening = _stamped(event)
    return {
        "doorId": opening.door_id,
        "timestampSk": keys.timestamp_sk(opening.timestamp, opening.opening_id, opening.sender),
        "expiresAt": expires_at(opening.timestamp, accepted_at, table.retention_days),
    }


STREAM = DOORS = Stream(
    name="doors",
    id_field="openingId",
    write_scope=EVENTS_WRITE,
    incoming=Incoming,
    accept=accept,
    item=item,
    table_setting="DOORS_TABLE",
    retention_setting="DOORS_RETENTION_DAYS",
    partition_key="doorId",
    sort_key="timestampSk",
)
