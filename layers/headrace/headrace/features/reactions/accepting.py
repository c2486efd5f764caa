"""Who may react to a message: everyone who may write in its room, to what they may read there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headrace.core import keys, times
from headrace.core.errors import Conflict, FieldError, echo
from headrace.core.items import Item
from headrace.core.texts import alike
from headrace.features.edits import gate as edits
from headrace.features.edits.change import AUTHOR, By
from headrace.features.edits.gate import ChangeGate, ChangeRights, check_not_deleted, check_waiting
from headrace.features.reactions.reaction import VALUE
from headrace.streams.chat.message_row import no_message
from headrace.streams.chat.messages.check import as_of
from headrace.streams.chat.rooms.access import not_in_room
from headrace.streams.chat.rooms.memberships import Membership
from headrace.streams.chat.rooms.read_scope import ReadScope
from headrace.streams.chat.rooms.rooms import Room

MOST_REACTIONS = 1_000
"""So many users can react to a message. All reactions to it are read to count them, for each batch with a new one."""


class ReactionRights(ChangeRights):
    """Reads what decides who may react. A user who has left a room can still take a reaction back."""

    def decide(self, change: Mapping[str, Any], room: Room, membership: Membership, is_closed: bool, now: int) -> By:
        key = change["key"]
        if is_closed:
            if VALUE in change and not as_of(membership.intervals, times.iso(now)):
                raise not_in_room(room.room_id)
            if not ReadScope(membership.intervals).covers(keys.time_of(key)):
                raise no_message(key)
        message = self.kept(room.room_id, key, now)
        if message is None:
            check_waiting(key, now)
        else:
            check_not_deleted(message)
            if VALUE in change:
                _check_not_full(message, change[VALUE])
        return AUTHOR


def _check_not_full(message: Item, value: str) -> None:
    shown = message.get("reactions", {})
    if sum(shown.values()) >= MOST_REACTIONS:
        given = echo(message["timestampSk"])
        detail = FieldError("key", f"has {MOST_REACTIONS:,} reactions", given, "the key of a message with fewer")
    elif "moreReactions" in message and alike(value) not in map(alike, shown):
        detail = FieldError("value", "is one value too many", echo(value), "a value that the message shows")
    else:
        return
    raise Conflict("the message has too many reactions", details=[detail])


def gate() -> ChangeGate:
    return edits.gate(ReactionRights)
