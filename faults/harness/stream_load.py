"""Traffic of the streams other than chat during a fault, and the questions about it."""

from __future__ import annotations

import contextlib
import random
import threading
import time
from collections.abc import Sequence
from typing import Any

from faults.harness.lanes import DeadLetter
from faults.harness.ledger import Row
from faults.harness.workers import Workers
from headrace.core import times
from loadtest.ads.clicks import Click
from loadtest.checker.findings import FAULTS
from loadtest.client.credentials import Sender
from loadtest.client.target import Target
from loadtest.measured.measurements import Measurements
from loadtest.runs.ads_work import AdsWork
from loadtest.runs.place import Place
from loadtest.runs.ski_work import SkiWork
from loadtest.sending.delivery import CountedEvents, Delivery
from loadtest.sending.transports import HttpTransport
from loadtest.shapes.shape import Load, Phase
from loadtest.ski.rides import SEASON
from localstage.client.errors import HttpError
from localstage.client.http_api import HttpApi

EVENTS, RATE = 6_000, 240
"""The events of a run, and how many are sent a second."""
SIZES = (1, 10, 100)
"""Events of a request."""
CLIENTS = 4
QUERY_EVERY = 1.0
TAKEN_BACK = 0.05
"""The share of the events that their sender takes back: before sending one, between two times, or afterwards."""
LATE_BY = 600_000_000
"""Microseconds within which clicks happened before they are sent."""


class Unmeasured:
    """Work whose latencies are not measured: the threads of a fault's load would need a lock for that."""

    def _measure(self, _events: Sequence[Any], _first_sent: float) -> None:
        pass


class Rides(Unmeasured, SkiWork):
    """Rides of ten resorts."""

    take_back = "/lift-rides/take-back"

    def ask(self, api: HttpApi) -> None:
        """Ask about a resort's day."""
        ride = self.ride()
        api.get(f"/resorts/{ride.resort}/seasons/{SEASON}/days/{ride.day}/hours")


class LateClicks(Unmeasured, AdsWork):
    """Clicks of the last ten minutes: most are for minutes that were already counted."""

    take_back = "/clicks/take-back"

    def make(self, sender: Sender, number: int, count: int) -> list[Click]:
        """``count`` new clicks."""
        return [each._replace(at=each.at - random.randrange(LATE_BY)) for each in super().make(sender, number, count)]

    def ask(self, api: HttpApi) -> None:
        """Ask for the counts of one ad and the top ads."""
        now = time.time_ns() // 1000
        window = {"from": times.iso(now - LATE_BY), "to": times.iso(now)}
        api.get(f"/ads/{self.ad()}/stats", window)
        api.get("/ads/top", window)


STREAMS: dict[str, type[Rides] | type[LateClicks]] = {"ski": Rides, "ads": LateClicks}
"""The work of each stream."""


class StreamLoad(Workers):
    """Sends events in threads from :meth:`start` to :meth:`stop`, each ``times`` times, and asks about them.

    Some are taken back. The questions let cached counts exist during the fault.
    """

    def __init__(self, target: Target, stream: str, *, times: int = 1) -> None:
        super().__init__()
        phase = Phase("events", (Load("HttpWriter", CLIENTS, events=EVENTS),), stream=stream)
        self.work = STREAMS[stream](target, phase, Place(f"{time.time_ns()}", 0), Measurements(), None)
        self._api = target.http("faults", "events:write", "analytics:read", connections=CLIENTS + 1, timeout=30.0)
        self._sender = self.work.sender(0)
        self._times = times
        self._taken_back: set[Any] = set()
        self._left = EVENTS
        self._lock = threading.Lock()
        for number in range(CLIENTS):
            self._add(f"client {number}", self._post)
        self._add("the client that asks", self._query)

    def start(self) -> None:
        """Start sending and asking."""
        self.work.begin()
        super().start()

    @property
    def accepted(self) -> int:
        """The number of events accepted so far."""
        return len(self.work.all_accepted)

    def is_done(self) -> bool:
        """Whether everything is sent."""
        return not any(thread.is_alive() for thread in self._threads[:CLIENTS])

    def row(self, _dead: Sequence[DeadLetter]) -> Row:
        """Ask all questions, compare, and close all connections."""
        work: Any = self.work
        work.all_accepted = [event for event in work.all_accepted if event not in self._taken_back]
        found = work.read_back()
        work.close()
        self._api.close()
        problems = [f"{name} {count}" for name, count in found.counts().items() if name in FAULTS and count]
        return Row(
            len(work.all_accepted),
            found.stored,
            found.lost,
            found.unexpected,
            work.retries["unavailable"],
            problems=[*problems, *found.examples.get("wrong", ())],
            note=f"{len(self._taken_back)} more taken back",
        )

    def _take(self) -> Sequence[Any]:
        """The events of the next request; none when all are sent."""
        with self._lock:
            size = min(random.choice(SIZES), self._left)
            self._left -= size
            return self.work.make(self._sender, 0, size) if size else []

    def _post(self) -> None:
        # Only the first of several times is counted.
        counts = (self.work, *(CountedEvents[Any]() for _ in range(self._times - 1)))
        deliveries = [Delivery(HttpTransport(self._api, self.work.request, each.retried), each) for each in counts]
        back: CountedEvents[Any] = CountedEvents()
        taking_back = Delivery(HttpTransport(self._api, self._take_back, back.retried), back)
        while not self._stopping.is_set() and (events := self._take()):
            began = time.monotonic()
            wrong = [event for event in events if random.random() < TAKEN_BACK]
            sends = [(delivery, events) for delivery in deliveries]
            if wrong:
                sends.insert(random.randrange(len(sends) + 1), (taking_back, wrong))
            if not all(delivery.send(each) for delivery, each in sends):
                self.problems.append(f"not all of {len(events)} events were accepted: {self.work.errors}")
            self._taken_back.update(wrong)
            pace = len(events) * CLIENTS / RATE
            self._stopping.wait(max(0.0, began + pace - time.monotonic()))

    def _take_back(self, events: Sequence[Any]) -> tuple[str, dict[str, Any]]:
        return self.work.take_back, {"events": events}

    def _query(self) -> None:
        while not self._stopping.wait(QUERY_EVERY):
            if self.work.all_accepted:  # on a busy machine, none is accepted in the first second
                with contextlib.suppress(HttpError):
                    self.work.ask(self._api)
