"""Replies: messages that say which one they answer, and pages of the replies to a message."""

from headrace.core.feature import Feature

FEATURE = Feature(
    name="replies",
    parts={"FIELDS": "field"},
    routes={"read_chat": "routes"},
    fields=("replyTo",),
)
