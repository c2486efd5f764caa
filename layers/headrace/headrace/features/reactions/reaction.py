"""The event of a reaction to a message, and its row.

The reactions to a message have a partition of their own, ordered by user. One without a value takes the user's reaction
back.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field

from headrace.core import keys
from headrace.core.fields import Text, stamped
from headrace.core.items import Item, expires_at
from headrace.core.stream import Kind, TableSettings
from headrace.features.edits.change import StampedChange, row_of
from headrace.features.reactions import FEATURE

REACT: Literal["react"] = "react"
VALUE = "value"
(_PARTITION,) = FEATURE.prefixes


class StampedReaction(StampedChange):
    """A reaction in an envelope."""

    change: Literal["react"] = Field(description=REACT)
    value: Text | None = Field(default=None, description="a text")


_stamped = stamped(StampedReaction)


def row_place(event: Mapping[str, str]) -> tuple[str, str]:
    """The partition and the sort key of a reaction."""
    # Not in the partition of the room: two keys and the user would be too long for a sort key.
    last = f"{event['timestamp']}#{event['sender']}"
    return reactions_partition(event["roomId"], event["key"]), f"{event['changedBy']}#{last}"


def item(event: dict[str, Any], accepted_at: int, table: TableSettings) -> Item:
    """The row of a stamped reaction. It is kept as long as its message."""
    reaction = _stamped(event)
    row = row_of(reaction, row_place, REACT)
    if reaction.value is not None:
        row[VALUE] = reaction.value
    if table.retention_days:
        row["expiresAt"] = expires_at(keys.time_of(reaction.key), accepted_at, table.retention_days)
    return row


def reactions_partition(room_id: str, key: str) -> str:
    """The partition of a message's reactions."""
    return f"{_PARTITION}{room_id}#{key}"


def message_of(row: Mapping[str, Any]) -> tuple[str, str]:
    """The room and the key of the message that the row of a reaction is about."""
    room_id, _, key = row["roomId"].removeprefix(_PARTITION).partition("#")
    return room_id, key


KIND = Kind(FEATURE.gates[0], item, message_of)
KINDS: dict[str, Kind] = {REACT: KIND}
