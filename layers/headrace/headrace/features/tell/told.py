"""What others are told of the rows of streams.

A change of a message has a row of its own, of which nothing is told: what it does to the row of its message is.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from headrace.core.items import Item
from headrace.core.keys import SEPARATOR
from headrace.core.stream import Tell, TellMessage, Told
from headrace.stage.chosen import FEATURES, parts
from headrace.stage.registry import all_streams
from headrace.streams.chat.message_row import is_message
from headrace.streams.chat.room_shards import room_of
from headrace.streams.chat.stream import CHAT, item_of

STORED = "message.stored"


def tells() -> dict[str, Tell]:
    """What others are told of the changes of a stream's rows, by stream."""
    found: dict[str, Tell] = {CHAT.name: partial(_tell_message, parts("told", FEATURES))}
    return found | {name: stream.tell for name, stream in all_streams().items() if stream.tell is not None}


def _tell_message(features: Sequence[TellMessage], before: Item | None, after: Item) -> Told | None:
    """A message that was stored, or of which a feature tells something."""
    if after["roomId"].startswith(SEPARATOR) or not is_message(after):
        return None  # a change, a probe, or a message that is not stored yet
    room_id, key = room_of(after["roomId"]), after["timestampSk"]
    before = before if before and is_message(before) else {}
    found = next(filter(None, (each(before, after) for each in features)), "" if before else STORED)
    return Told(found, f"{room_id}{SEPARATOR}{key}", item_of({**after, "roomId": room_id})) if found else None
