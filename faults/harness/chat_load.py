"""Chat load during a fault: WebSocket frames and HTTP batches, retried under the same ids."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from itertools import islice

from faults.harness.lanes import DeadLetter
from faults.harness.ledger import Row, reconcile
from faults.harness.workers import Workers
from headrace_client.sending import uuid7
from loadtest.checker.checker import Checker
from loadtest.checker.readback import drain_and_read
from loadtest.client.chat_events import ChatEvent, iso, post_messages
from loadtest.client.target import Target
from loadtest.sending.delivery import Delivery
from loadtest.sending.transports import FrameTransport, HttpTransport
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


def messages(scenario: str, user: str, seed: int = 0, rooms: int = ROOMS) -> Iterator[ChatEvent]:
    """New events of one worker without end, each with the current time. The seed determines rooms, ids and texts."""
    chance, names = random.Random(f"{scenario}/{user}/{seed}"), rooms_of(scenario, rooms)
    while True:
        now = datetime.now(UTC)
        room, text = chance.choice(names), chance.choice(TEXTS)
        yield ChatEvent(room, uuid7(now, chance.getrandbits(74)), iso(now), user, text)


class Load(Workers):
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
        super().__init__()
        self.target = target
        self.scenario = scenario
        self.checker = Checker()
        self._size = size
        self._rooms = rooms
        self._scope = scope
        self._pause = size * (sockets + posts) / rate
        self._going = threading.Event()
        self._going.set()
        self._sending: set[str] = set()
        for number, send in enumerate([self._send_frames] * sockets + [self._send_posts] * posts):
            user = f"{scenario}-user-{number}"
            self._add(user, partial(send, user))

    def stop(self) -> None:
        """Stop sending, and wait until everything sent is answered or given up."""
        self._stopping.set()
        self._going.set()
        super().stop()

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
        event = next(messages(self.scenario, user, self.accepted))
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

    def _send_frames(self, user: str) -> None:
        made = messages(self.scenario, user, rooms=self._rooms)
        with closing(self.target.websocket(user, self._scope)) as socket:
            delivery = Delivery(FrameTransport(socket, self.checker.retried), self.checker, GIVE_UP)
            for _ in self._turns(user):
                delivery.send(list(islice(made, self._size)))

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
        made = messages(self.scenario, user, rooms=self._rooms)
        with closing(self.target.http(user, self._scope)) as api:
            for _ in self._turns(user):
                self.post(api, list(islice(made, self._size)))

    def post(self, api: HttpApi, events: Sequence[ChatEvent]) -> None:
        """Send ``events`` in one request, and retry refused events under the same ids."""
        transport = HttpTransport(api, post_messages, self.checker.retried)
        Delivery(transport, self.checker, GIVE_UP).send(events)
