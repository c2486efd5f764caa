"""Attachments: files that messages name, in a bucket, and links to them."""

from headrace.core.feature import Feature

FEATURE = Feature(
    name="attachments",
    parts={
        "FIELDS": "files",
        "gate": "accepting",
        "after": "storing",
        "remove_first": "storing",
        "show": "reading",
        "steps_first": "people",
        "sources": "people",
        "room_sources": "people",
    },
    routes={"manage_rooms": "uploads", "read_chat": "reading"},
    functions=("tidy_attachments",),
    fields=("attachments",),
    gates=("chat",),
)
