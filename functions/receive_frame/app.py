"""Every frame but $connect and $disconnect: accept events, answer on the same connection."""

from __future__ import annotations

from typing import Any

from headrace.streams.chat.frames import Frames
from headrace.writing import frames

ACTIONS = {"sendMessage": Frames.send_message, "sendBatch": Frames.send_batch, "ping": Frames.ping}


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:
    """Answer the frame; a frame that is refused is an answer too."""
    action = ACTIONS.get(event["requestContext"]["routeKey"], Frames.unknown)
    return frames().answer(event, action)
