"""Deletion of rooms: an owner deletes a room of members, and an operator any room."""

from headrace.core.feature import Feature

FEATURE = Feature(
    name="room_deletion",
    needs=("people",),
    parts={"room_steps": "steps"},
    routes={"manage_rooms": "routes"},
)
