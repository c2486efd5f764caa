"""Locust users: each is a WebSocket connection that sends a frame, waits for the answer, and sends the next.

There is one Locust event per frame instead of per message, because the client shares the CPU with the platform that it
measures.
"""

from __future__ import annotations

import random
import time
from typing import Any

import gevent  # type: ignore[import-untyped]
from locust import User, task
from locust.env import Environment
from locust.exception import StopUser

from loadtest.chat.chat_texts import REPLIES
from loadtest.chat.load_run import Run
from loadtest.client.chat_events import ChatEvent
from loadtest.sending.websocket_sender import WebSocketSender
from localstage.client.errors import ClientError

RUN = "headrace_run"


def run_of(environment: Environment) -> Run:
    """The run that the locustfile attached to ``environment``."""
    run: Run = getattr(environment, RUN)
    return run


class Connection(User):
    """A connection with its own token. Subclasses set the number of messages of a frame."""

    abstract = True
    frame = 1

    def __init__(self, environment: Environment) -> None:
        super().__init__(environment)
        self._run = run_of(environment)
        self._number = self._run.join()
        self._name = f"load-{self._number:03d}"
        self._room = self._run.room(self._number)
        self._made = 0
        # A target with one token for all users has that of a trusted producer, which names the user of each event.
        self._username = self._name if self._run.target.token else None
        self._ids = f"{random.getrandbits(32):08x}"
        self._websocket = self._run.target.websocket(self._name, "chat:write", timeout=20.0)

    def on_start(self) -> None:
        """Connect, and wait for all other users, so that connecting is not measured."""
        try:
            self._websocket.open()
        except ClientError as error:
            self._run.fail(str(error))
        self._sender = WebSocketSender(
            self._websocket,
            self._run.checker,
            window=1,
            single=self.frame == 1,
            on_accepted=self._run.probe.offer,
            on_answer=self._count,
        )
        self._run.ready()

    @task
    def send(self) -> None:
        """Send one frame; stop when all messages of the run are sent."""
        count = self._run.take(self.frame)
        if not count:
            self._leave()
        try:
            self._sender.send(self._events(count))
        except ClientError as error:
            self._run.fail(f"{self._name}: {error}")
            self._leave()

    def _leave(self) -> None:
        self._websocket.close()
        if self._run.leave():
            # In another greenlet, because quit() ends this one.
            gevent.spawn(self.environment.runner.quit if self.environment.runner else lambda: None)
        raise StopUser

    def _events(self, count: int) -> list[ChatEvent]:
        """``count`` messages with the current time, a microsecond apart."""
        micros = time.time_ns() // 1000
        seconds, micros = divmod(micros, 1_000_000)
        micros = min(micros, 999_999 - count)
        prefix = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))
        start, self._made = self._made, self._made + count
        return [
            ChatEvent(
                self._room,
                f"{self._name}-{self._ids}-{start + index}",
                f"{prefix}.{micros + index:06d}Z",
                self._name,
                REPLIES[(start + index) % len(REPLIES)],
                self._username,
            )
            for index in range(count)
        ]

    def _count(self, count: int, seconds: float) -> None:
        self.environment.events.request.fire(**_request(self._frame_name(), seconds, count))

    def _frame_name(self) -> str:
        return "sendMessage" if self.frame == 1 else f"sendBatch of {self.frame}"


class FrameUser(Connection):
    """Frames of 25."""

    frame = 25


class SingleUser(Connection):
    """Frames of one message."""

    frame = 1


def _request(name: str, seconds: float, count: int) -> dict[str, Any]:
    return {
        "request_type": "WebSocket",
        "name": name,
        "response_time": seconds * 1000,
        "response_length": count,
        "exception": None,
        "context": {},
    }
