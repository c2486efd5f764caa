"""The field of a message that answers another one."""

from __future__ import annotations

from headrace.features.replies import FEATURE
from headrace.streams.chat.message_row import KEY_FORM, MessageKey
from headrace.streams.chat.stream import THREAD, MessageField


def thread(room_id: str, key: str) -> str:
    """What the replies to a message have in common. Only the room makes a key unique: two can have the same one."""
    return f"{room_id}#{key}"


FIELDS = {
    name: MessageField(MessageKey, MessageKey, KEY_FORM, beside=lambda room_id, key: {THREAD: thread(room_id, key)})
    for name in FEATURE.fields
}
