"""Frames about a room: listen to it, stop listening, read its history. Answered on the same connection."""

from __future__ import annotations

from typing import Any

from headrace.room_reading import room_frames
from headrace.streams.chat.room_frames import RoomFrames

ACTIONS = {"subscribe": RoomFrames.subscribe, "unsubscribe": RoomFrames.unsubscribe, "history": RoomFrames.history}


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:
    """Answer the frame; a frame that is refused is an answer too."""
    action = ACTIONS.get(event["requestContext"]["routeKey"], RoomFrames.unknown)
    return room_frames().answer(event, action)
