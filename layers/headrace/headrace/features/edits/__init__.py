"""Edits and deletions of messages, their earlier texts, and what all changes of messages have in common."""

from headrace.core.feature import Feature

FEATURE = Feature(
    name="edits",
    parts={
        "KINDS": "change",
        "gate": "gate",
        "before": "storing",
        "after": "storing",
        "complete": "storing",
        "remove": "storing",
        "told": "change",
        "screens": "people",
        "steps": "people",
        "sources": "people",
    },
    routes={"receive_http": "routes", "receive_frame": "routes", "read_chat": "versions"},
    prefixes=("#changes#",),
    gates=("chat.change",),
    actions=("editMessage", "deleteMessage"),
    tells=("message.edited", "message.deleted"),
)
