"""Unread: how far users have read their rooms, and lists of these with unread counts."""

from headrace.core.feature import Feature

FEATURE = Feature(name="unread", routes={"manage_rooms": "read_marks", "read_chat": "conversations"})
