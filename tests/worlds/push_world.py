"""push_live with everything in memory."""

from __future__ import annotations

import base64
import json
from typing import Any

from headrace.core.times import SECOND
from headrace.live import copies
from headrace.live.push_service import PushService
from tests.fakes.clock import FixedClock
from tests.fakes.live import MemoryConnections, MemoryPusher
from tests.worlds.senders import NOW, caller


def item(text: str, timestamp: str = NOW, room: str = "kitchen") -> dict[str, Any]:
    return {"key": f"{timestamp}#{text}#fpmansl7byak", "roomId": room, "timestamp": timestamp, "message": text}


class PushWorld:
    """push_live with everything in memory."""

    def __init__(self) -> None:
        self.clock = FixedClock(NOW)
        self.connections = MemoryConnections(self.clock)
        self.api = MemoryPusher()
        self.position = "p1"
        self.pusher = PushService(self.connections, self.api, lambda: self.clock.now() / SECOND)

    def listen(self, *connections: str, room: str = "kitchen", since: str | None = None) -> None:
        for connection in connections:
            self.connections.subscribe({room: since}, connection, caller(connection), self.clock.now() // SECOND)

    def push(self, *items: dict[str, Any]) -> None:
        """One copy for each of ``items``, in one batch."""
        bodies = [copies.frames(each["roomId"], [each], self.position)[0] for each in items]
        self.push_bodies(*bodies)

    def push_bodies(self, *bodies: bytes) -> None:
        records = [{"data": base64.b64encode(body).decode()} for body in bodies]
        self.pusher.push({"eventSource": "aws:rmq", "rmqMessagesByQueue": {"live.0::/": records}})

    def got(self, connection: str) -> list[list[str]]:
        """The texts in each frame of a connection, with a mark for a reported gap."""
        frames = [json.loads(frame) for frame in self.api.sent[connection]]
        return [
            (["missed"] if frame.get("missed") else []) + [each["message"] for each in frame["items"]]
            for frame in frames
        ]
