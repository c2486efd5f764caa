"""The clients of the e2e tests."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar

import urllib3

from loadtest.client.websocket import WebSocket
from tests.worlds.reference import answer_to, frame_to_client

WRITER = ("chat:write", "chat:read")
PATIENCE = 20.0


def unique(prefix: str) -> str:
    """An id that no other test uses."""
    return f"{prefix}-{uuid.uuid4().hex[:12]}"


def now(**offset: float) -> str:
    return (datetime.now(UTC) + timedelta(**offset)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def message(room: str, text: str = "hello", **more: Any) -> dict[str, Any]:
    return {"roomId": room, "message": text, "messageId": unique("m"), "timestamp": now(), **more}


class CheckedWebSocket(WebSocket):
    """A connection on which each frame must be as the API document says."""

    def receive(self) -> dict[str, Any]:
        frame = super().receive()
        assert not (wrong := frame_to_client(frame)), (wrong, frame)
        return frame


class Client:
    """One user with one token, over both protocols. Each answer must be as the API documents say."""

    open_sockets: ClassVar[list[WebSocket]] = []
    pool = urllib3.PoolManager(timeout=30.0, retries=False)

    def __init__(self, stage: Any, user: str | None = None, *scopes: str, ttl: int = 3600) -> None:
        self.stage = stage
        self.user = user or unique("user")
        self.token = stage.token(self.user, *(scopes or WRITER), ttl=ttl)

    def connect(self) -> WebSocket:
        socket = CheckedWebSocket(self.stage.where["websocket_url"], lambda: self.token, timeout=20.0)
        self.open_sockets.append(socket)
        socket.open()
        return socket

    def http(self, method: str, path: str, body: Any = None, **query: str) -> tuple[int, Any, Any]:
        """Status, JSON body, headers; a body of bytes goes out as it is."""
        headers = {"authorization": f"Bearer {self.token}"} if self.token else {}
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        url = self.stage.where["http_url"] + path
        answer = (
            self.pool.request(method, url, body=data, headers=headers, fields=query or None)
            if data is None
            else (self.pool.request(method, url, body=data, headers={**headers, "content-type": "application/json"}))
        )
        found = json.loads(answer.data) if answer.data else None
        wrong = answer_to(method, path, answer.status, found)
        assert not wrong, (method, path, answer.status, wrong, found)
        return answer.status, found, answer.headers

    def room(self, room: str, **query: str) -> list[dict[str, Any]]:
        status, page, _ = self.http("GET", f"/rooms/{room}/messages", **query)
        assert status == 200, page
        items: list[dict[str, Any]] = page["items"]
        return items

    def wait_for(self, room: str, count: int) -> list[dict[str, Any]]:
        """The room's newest page, once it holds ``count`` messages."""
        return self.wait_for_items(f"/rooms/{room}/messages", count)

    def wait_for_items(self, path: str, count: int) -> list[dict[str, Any]]:
        """The newest page at ``path``, once it holds ``count`` items. Before the first is stored, it may be a 404."""

        def items() -> list[dict[str, Any]]:
            status, page, _ = self.http("GET", path, limit="200")
            assert status in (200, 404), page
            return page["items"] if status == 200 else []

        return until(items, lambda found: len(found) >= count)


def until(call: Callable[[], Any], good: Callable[[Any], bool], patience: float = PATIENCE) -> Any:
    """The first result of ``call`` that is ``good``."""
    deadline = time.monotonic() + patience
    while True:
        found = call()
        if good(found):
            return found
        assert time.monotonic() < deadline, f"not within {patience} s: {found!r}"
        time.sleep(0.05)
