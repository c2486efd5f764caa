"""The field of a message that answers another one."""

from __future__ import annotations

from headrace.core.items import Item
from headrace.features.replies import FEATURE
from headrace.streams.chat.message_row import KEY_FORM, MessageKey
from headrace.streams.chat.stream import THREAD, MessageField

(REPLY_TO,) = FEATURE.fields


def thread(room_id: str, key: str) -> str:
    """What the replies to a message have in common. Only the room makes a key unique: two can have the same one."""
    return f"{room_id}#{key}"


def _store(row: Item, key: str) -> None:
    row[REPLY_TO], row[THREAD] = key, thread(row["roomId"], key)


FIELDS = {REPLY_TO: MessageField(MessageKey, MessageKey, KEY_FORM, str, _store)}
