"""Edits and deletions of messages, their earlier texts, and what all changes of messages have in common."""

from headrace.core.feature import Feature

FEATURE = Feature(
    name="edits",
    parts={
        "kinds": "change",
        "accepting": "accepting",
        "storing": "storing",
        "telling": "telling",
        "screening": "people",
        "people": "people",
    },
    routes={"receive_http": "routes", "receive_frame": "routes", "read_chat": "reading"},
    prefixes=("#changes#",),
    gates=("chat.change",),
    actions=("editMessage", "deleteMessage"),
    tells=("message.edited", "message.deleted"),
)
