"""What others are told of messages.

A change has a row of its own, of which nothing is told: what it does to the row of its message is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from headrace.core.items import Item
from headrace.core.keys import SEPARATOR, TIME_LENGTH
from headrace.core.room_shards import room_of
from headrace.core.stream import Told
from headrace.core.times import HOUR_LENGTH, is_canonical
from headrace.streams.chat.message_row import is_message
from headrace.streams.chat.stream import item_of

STORED = "message.stored"
Tells = Callable[[Item, Item], str]
"""The type of what a feature tells of a message, given its row before (maybe empty) and after; "" for nothing."""


def hour(key: str) -> str:
    """The hour of a message with a ``key``; empty for that of another row, such as that of a probe."""
    return key[:HOUR_LENGTH] if is_canonical(key[:TIME_LENGTH]) else ""


def tell(features: Sequence[Tells], before: Item | None, after: Item) -> Told | None:
    """A message that was stored, or of which a feature tells something."""
    if after["roomId"].startswith(SEPARATOR) or not is_message(after):
        return None  # a change, a probe, or a message that is not stored yet
    room_id, key = room_of(after["roomId"]), after["timestampSk"]
    before = before if before and is_message(before) else {}
    found = next(filter(None, (each(before, after) for each in features)), "" if before else STORED)
    return Told(found, f"{room_id}{SEPARATOR}{key}", item_of({**after, "roomId": room_id})) if found else None
