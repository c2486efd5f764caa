"""Reactions to messages: one of each user, counted on the message."""

from headrace.core.feature import Feature

FEATURE = Feature(
    name="reactions",
    needs=("edits",),
    parts={
        "KINDS": "reaction",
        "gate": "accepting",
        "before": "storing",
        "after": "storing",
        "complete": "storing",
        "remove": "storing",
        "told": "telling",
        "steps": "people",
        "sources": "people",
    },
    routes={"receive_http": "routes", "receive_frame": "routes", "read_chat": "reactors"},
    prefixes=("#reactions#",),
    gates=("chat.reaction",),
    actions=("react", "unreact"),
    tells=("message.reactions",),
)
