"""What others are told of messages.

A change has a row of its own, of which nothing is told: what it does to the row of its message is.
"""

from __future__ import annotations

from headrace.core.items import Item
from headrace.core.keys import SEPARATOR, TIME_LENGTH
from headrace.core.room_shards import room_of
from headrace.core.stream import Told
from headrace.core.times import HOUR_LENGTH, is_canonical
from headrace.streams.chat.change import CHANGE, CHANGE_KEY, REACTIONS_AT, is_message, message_of
from headrace.streams.chat.stream import item_of

STORED, EDITED, DELETED = "message.stored", "message.edited", "message.deleted"
REACTIONS = "message.reactions"
TYPES = (STORED, EDITED, DELETED, REACTIONS)


def hour(row: Item) -> str:
    """The hour of a message, also for the rows of its changes; empty for other rows, such as those of probes."""
    key: str = message_of(row)[1] if CHANGE in row else row["timestampSk"]
    return key[:HOUR_LENGTH] if is_canonical(key[:TIME_LENGTH]) else ""


def tell(before: Item | None, after: Item) -> Told | None:
    """A message that was stored, edited or deleted, or whose reactions were counted again."""
    if after["roomId"].startswith(SEPARATOR) or not is_message(after):
        return None  # a change, a probe, or a message that is not stored yet
    room_id, key = room_of(after["roomId"]), after["timestampSk"]
    found = _type(before if before and is_message(before) else {}, after)
    return Told(found, f"{room_id}{SEPARATOR}{key}", item_of({**after, "roomId": room_id})) if found else None


def _type(before: Item, after: Item) -> str:
    if after.get(CHANGE_KEY, "") > before.get(CHANGE_KEY, "") and (before or "deletedAt" in after):
        return DELETED if "deletedAt" in after else EDITED
    if not before:
        return STORED
    return REACTIONS if after.get(REACTIONS_AT, "") > before.get(REACTIONS_AT, "") else ""
