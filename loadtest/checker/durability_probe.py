"""Measures the durable latency: how long an accepted event takes until it can be read back."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from loadtest.client.chat_events import ChatEvent, after
from localstage.client.errors import ClientError, HttpError, TokenRefused
from localstage.client.http_api import HttpApi

EVERY = 0.25
"""Seconds between samples."""
POLL = 0.01
INTERVAL, SHARE = 0.1, 0.2
"""A sample is looked for again after so many seconds, or after this share of its age, whichever is longer."""
GIVE_UP = 120.0
LARGEST = 25


Look = Callable[[], int]
"""Returns how many events of a sample can be read now."""
LookFor = Callable[[Sequence[Any]], tuple[int, Look]]
"""Makes a sample of one request's events: how many it has, and the function that looks for them."""


@dataclass
class _Sample:
    look: Look
    count: int
    first_sent: float
    due: float
    found: int = 0


class DurabilityProbe:
    """Samples accepted events, and looks for them until they can be read.

    The durable latency of an event lasts from its first send until the first answer that contains it. Every ``every``
    seconds, the next acknowledged request becomes a sample by ``look_for``, however many samples are outstanding: so a
    stall has its share of the values. One sample is looked for at a time, which bounds the load. A value is too long by
    at most a fifth or by ``interval``, and by the requests for the other samples. Events that are not found within
    120 s have the time until then as their value; without a valid token a sample has none. ``on_found`` is called with
    each latency and the number of events.
    """

    def __init__(
        self,
        look_for: LookFor,
        on_found: Callable[[float, int], object],
        *,
        every: float = EVERY,
        interval: float = INTERVAL,
    ) -> None:
        self._on_found = on_found
        self._look_for = look_for
        self._every = every
        self._interval = interval
        self._next_at = 0.0
        self._samples: list[_Sample] = []
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def offer(self, events: Sequence[Any], first_sent: float) -> None:
        """Make a sample of the acknowledged ``events`` of one request, if the next one is due."""
        now = time.perf_counter()
        with self._lock:
            if now < self._next_at or self._stopping.is_set():
                return
            self._next_at = now + self._every
            count, look = self._look_for(events)
            self._samples.append(_Sample(look, count, first_sent, now))
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="durability-probe", daemon=True)
                self._thread.start()

    def finish(self) -> None:
        """Take no more samples, and wait for the outstanding ones."""
        with self._lock:
            self._stopping.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        while not self._stopping.is_set() or self._samples:
            sample = min(self._samples, key=lambda each: each.due, default=None)
            if sample is None or sample.due > time.perf_counter():
                time.sleep(POLL)
                continue
            self._check(sample)

    def _check(self, sample: _Sample) -> None:
        try:
            readable = sample.look()
        except ClientError as error:
            if isinstance(error, TokenRefused) or (isinstance(error, HttpError) and error.is_unauthorized):
                self._samples.remove(sample)
                return
            readable = 0  # an event that the next attempt finds has the longer latency
        now = time.perf_counter()
        age = now - sample.first_sent
        more = (sample.count if age >= GIVE_UP else readable) - sample.found
        if more > 0:
            self._on_found(age, more)
            sample.found += more
        sample.due = now + max(self._interval, SHARE * age)
        if sample.found == sample.count:
            self._samples.remove(sample)


def in_history(reader: HttpApi) -> LookFor:
    """Looks for messages: up to 25 of one frame and one room, with a page of exactly their times."""

    def look_for(events: Sequence[ChatEvent]) -> tuple[int, Look]:
        room = events[0].room_id
        mine = [event for event in events if event.room_id == room][:LARGEST]
        times = [event.timestamp for event in mine]
        start, end = min(times), after(max(times))
        ids = {event.message_id for event in mine}

        def look() -> int:
            page = reader.room_page(room, limit=200, start=start, end=end)
            return len(ids.intersection(item.get("messageId") for item in page["items"]))

        return len(ids), look

    return look_for
