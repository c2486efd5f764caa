"""A client that follows over one connection after another, for models of what is pushed to it."""

from __future__ import annotations

import base64
import itertools
import json
from collections.abc import Awaitable, Sequence
from typing import Any, TypeVar

from hypothesis.stateful import RuleBasedStateMachine

from headrace.core.times import SECOND
from headrace.live.push_service import PushService
from headrace_client.errors import error_of
from tests.fakes.live import MemoryPusher
from tests.worlds.frame_stage import Stage
from tests.worlds.whole_room_world import WholeRoomWorld
from tests.worlds.write_path import frame_event

T = TypeVar("T")


def now(work: Awaitable[T]) -> T:
    """The result of ``work``, which never waits."""
    try:
        work.__await__().send(None)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]
    raise AssertionError("it waits")


class Following(RuleBasedStateMachine):
    """A stage, an environment of push_live, and a connection of the user ``subject`` to which a client sends frames."""

    subject: str

    def __init__(self) -> None:
        super().__init__()
        self.stage = Stage(WholeRoomWorld())
        self.clock = self.stage.world.clock
        self.numbers = itertools.count()
        self.connect()
        self.pusher = MemoryPusher()
        self.start_service()

    @property
    def seconds(self) -> float:
        return self.clock.now() / SECOND

    def start_service(self) -> None:
        """Start an environment of push_live, with nothing in memory."""
        self.service = PushService(self.stage.connections, self.pusher, lambda: self.seconds)

    def connect(self) -> None:
        """Open the next connection."""
        self.connection = f"c-{next(self.numbers)}"

    async def request(self, action: str, /, **fields: Any) -> dict[str, Any]:
        event = frame_event({"requestId": "r", **fields}, subject=self.subject, scope="chat:read")
        context = {"connectionId": self.connection, "connectedAt": self.clock.now() // 1000, "routeKey": action}
        event["requestContext"] |= context
        answer: dict[str, Any] = json.loads(self.stage.frames(event)["body"])
        if answer["type"] == "error":
            raise error_of(answer["error"])
        return answer

    def pushed(self, batch: Sequence[bytes]) -> list[dict[str, Any]]:
        """The frames on the connection after push_live took a batch of live copies."""
        records = [{"data": base64.b64encode(body).decode()} for body in batch]
        self.service.push({"eventSource": "aws:rmq", "rmqMessagesByQueue": {"live.0::/": records}})
        return [json.loads(frame) for frame in self.pusher.sent.pop(self.connection, [])]
