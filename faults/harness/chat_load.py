"""Chat load during a fault: WebSocket frames and HTTP batches, retried under the same ids."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from faults.harness.lanes import DeadLetter
from faults.harness.ledger import Row, reconcile
from headrace_client.sending import uuid7
from loadtest.checker.checker import Checker
from loadtest.checker.readback import drain_and_read
from loadtest.client.chat_events import ChatEvent, iso, post_messages
from loadtest.client.target import Target
from loadtest.sending.delivery import Delivery
from loadtest.sending.transports import FrameTransport, HttpTransport
from localstage.client.errors import ClientError
from localstage.client.http_api import HttpApi

TEXTS = ("on my way", "who has the keys?", "それは明日です", "das Brot ist fertig 🍞", "line one\nline two", "ок " * 60)
ROOMS = 4
GIVE_UP = 150.0
"""Seconds without an accepted event after which a worker gives up."""
READ_PATIENCE = 20.0
STUCK = 60.0
"""Seconds without an accepted event that count as a problem."""


def rooms_of(scenario: str, rooms: int = ROOMS) -> list[str]:
    """The rooms of a scenario."""
    return [f"{scenario}-{number}" for number in range(rooms)]


class EventGenerator:
    """Generates the events of one worker in the rooms of one scenario. The seed determines ids and texts."""

    def __init__(self, scenario: str, user: str, seed: int, rooms: int = ROOMS) -> None:
        self._random = random.Random(f"{scenario}/{user}/{seed}")
        self._rooms = rooms_of(scenario, rooms)
        self._user = user

    def events(self, count: int) -> list[ChatEvent]:
        """``count`` new events with the current time."""
        made = []
        for _ in range(count):
            now = datetime.now(UTC)
            room, text = self._random.choice(self._rooms), self._random.choice(TEXTS)
            made.append(ChatEvent(room, uuid7(now, self._random.getrandbits(74)), iso(now), self._user, text))
        return made


class Load:
    """Sends events in threads, from :meth:`start` to :meth:`stop`; ``checker`` records every event.

    ``rate`` is events per second of all workers; each frame or request has ``size`` events, in ``rooms`` rooms. The
    workers' tokens have ``scope``.
    """

    def __init__(
        self,
        target: Target,
        scenario: str,
        *,
        sockets: int = 3,
        posts: int = 1,
        rate: float = 240,
        size: int = 20,
        rooms: int = ROOMS,
        scope: str = "chat:write",
    ) -> None:
        self.target = target
        self.scenario = scenario
        self.checker = Checker()
        self.problems: list[str] = []
        self._size = size
        self._rooms = rooms
        self._scope = scope
        self._pause = size * (sockets + posts) / rate
        self._stopping = threading.Event()
        self._going = threading.Event()
        self._going.set()
        self._sending: set[str] = set()
        self._kinds = [self._send_frames] * sockets + [self._send_posts] * posts
        self._threads: list[threading.Thread] = []

    def start(self) -> None:
        """Start sending."""
        for number, kind in enumerate(self._kinds):
            user = f"{self.scenario}-user-{number}"
            thread = threading.Thread(target=self._run_worker, args=(kind, user), name=user, daemon=True)
            self._threads.append(thread)
            thread.start()

    def stop(self) -> None:
        """Stop sending, and wait until everything sent is answered or given up."""
        self._stopping.set()
        self._going.set()
        for thread in self._threads:
            thread.join(GIVE_UP + 30)
            if thread.is_alive():
                self.problems.append(f"{thread.name} did not end: it waits for answers")

    def pause(self) -> None:
        """Stop sending until :meth:`resume`; returns when outstanding events are answered."""
        self._going.clear()
        deadline = time.monotonic() + GIVE_UP
        while self._sending and time.monotonic() < deadline:
            time.sleep(0.05)

    def resume(self) -> None:
        """End a pause."""
        self._going.set()

    def wait_for(self, accepted: int) -> None:
        """Wait until ``accepted`` events are accepted in total; records a problem after a minute without progress."""
        best, deadline = self.accepted, time.monotonic() + STUCK
        while (now := self.accepted) < accepted:
            if now > best:
                best, deadline = now, time.monotonic() + STUCK
            if time.monotonic() > deadline:
                self.problems.append(f"nothing was accepted for {STUCK:.0f} s")
                return
            time.sleep(0.1)

    def send_one(self, text: str, room: str = "") -> ChatEvent:
        """Send one event with ``text`` by HTTP, into ``room`` or a random one."""
        user = f"{self.scenario}-single"
        (event,) = EventGenerator(self.scenario, user, self.accepted).events(1)
        event = replace(event, message=text, room_id=room or event.room_id)
        with closing(self.target.http(user, "chat:write")) as api:
            self.post(api, [event])
        return event

    def row(self, dead: Sequence[DeadLetter] = (), *, patience: float = READ_PATIENCE) -> Row:
        """Read everything back and compare; ``dead`` letters are in no room."""
        drain_and_read(self.checker, self.target.reader(), patience=patience)
        return reconcile(self.checker, dead)

    @property
    def accepted(self) -> int:
        """The number of events accepted so far."""
        return sum(self.checker.lanes.values())

    def _run_worker(self, kind: Any, user: str) -> None:
        try:
            kind(user)
        except ClientError as error:
            self.problems.append(f"{user}: {error}")

    def _send_frames(self, user: str) -> None:
        generator = EventGenerator(self.scenario, user, 0, self._rooms)
        with closing(self.target.websocket(user, self._scope)) as socket:
            delivery = Delivery(FrameTransport(socket, self.checker.retried), self.checker, GIVE_UP)
            for _ in self._turns(user):
                delivery.send(generator.events(self._size))

    def _turns(self, user: str) -> Iterator[None]:
        """Yields once per frame or request, at the load's rate.

        A turn that is late begins at once, and moves the next ones.
        """
        due = time.monotonic() + self._pause
        while not self._stopping.wait(max(0.0, due - time.monotonic())):
            due = max(due, time.monotonic() - self._pause) + self._pause
            if not self._going.is_set():
                self._sending.discard(user)
                while not self._going.wait(0.2) and not self._stopping.is_set():
                    pass
                continue
            self._sending.add(user)
            yield
        self._sending.discard(user)

    def _send_posts(self, user: str) -> None:
        generator = EventGenerator(self.scenario, user, 0, self._rooms)
        with closing(self.target.http(user, self._scope)) as api:
            for _ in self._turns(user):
                self.post(api, generator.events(self._size))

    def post(self, api: HttpApi, events: Sequence[ChatEvent]) -> None:
        """Send ``events`` in one request, and retry refused events under the same ids."""
        transport = HttpTransport(api, post_messages, self.checker.retried)
        Delivery(transport, self.checker, GIVE_UP).send(events)
