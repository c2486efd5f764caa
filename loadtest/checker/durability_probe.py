"""Measures the durable latency: how long an accepted event takes until it can be read back."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from loadtest.client.chat_events import ChatEvent, after
from localstage.client.errors import ClientError
from localstage.client.http_api import HttpApi

EVERY = 0.25
"""Seconds between samples."""
POLL = 0.01
INTERVAL, SHARE = 0.1, 0.2
"""A sample is looked for again after so many seconds, or after this share of its age, whichever is longer."""
GIVE_UP = 120.0
LARGEST = 25


@dataclass
class _Sample:
    room: str
    start: str
    end: str
    first_sent: float
    waiting: set[str]
    due: float


class DurabilityProbe:
    """Samples accepted frames and looks for their events in the room's history.

    The durable latency of an event lasts from its first send until the first history page that contains it. Every
    ``every`` seconds, the next acknowledged events, up to 25 of one frame and one room, are a sample, however many
    samples are outstanding: so a stall has its share of the values. A sample is read with a page of exactly its times,
    one page at a time, which bounds the load. A value is too long by at most a fifth or by ``INTERVAL``, and by the
    requests for the other samples. Events that are not found within 120 s have the time until then as their value.
    ``on_found`` is called with each latency and the number of events.
    """

    def __init__(
        self,
        reader: HttpApi,
        *,
        every: float = EVERY,
        on_found: Callable[[float, int], object] = lambda _seconds, _count: None,
    ) -> None:
        self.seconds: list[float] = []
        self._on_found = on_found
        self._reader = reader
        self._every = every
        self._next_at = 0.0
        self._samples: list[_Sample] = []
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="durability-probe", daemon=True)

    def start(self) -> None:
        """Start; :meth:`offer` provides the samples."""
        self._thread.start()

    def offer(self, events: Sequence[ChatEvent], first_sent: float) -> None:
        """Take the acknowledged ``events`` of one frame as a sample, if the next one is due."""
        now = time.perf_counter()
        with self._lock:
            if now < self._next_at or self._stopping.is_set():
                return
            self._next_at = now + self._every
        room = events[0].room_id
        mine = [event for event in events if event.room_id == room][:LARGEST]
        times = [event.timestamp for event in mine]
        ids = {event.message_id for event in mine}
        self._samples.append(_Sample(room, min(times), after(max(times)), first_sent, ids, now))

    def finish(self) -> list[float]:
        """Take no more samples, wait for the outstanding ones, and return all latencies in seconds."""
        self._stopping.set()
        self._thread.join()
        return self.seconds

    def _run(self) -> None:
        while not self._stopping.is_set() or self._samples:
            sample = min(self._samples, key=lambda each: each.due, default=None)
            if sample is None or sample.due > time.perf_counter():
                time.sleep(POLL)
                continue
            self._check(sample)

    def _check(self, sample: _Sample) -> None:
        try:
            page = self._reader.room_page(sample.room, limit=200, start=sample.start, end=sample.end)
        except ClientError:
            page = {"items": []}  # an event that the next attempt finds has the longer latency
        now = time.perf_counter()
        age = now - sample.first_sent
        found = sample.waiting.intersection(item.get("messageId") for item in page["items"])
        if age >= GIVE_UP:
            found = sample.waiting
        if found:
            self.seconds.extend([age] * len(found))
            self._on_found(age, len(found))
        sample.waiting -= found
        sample.due = now + max(INTERVAL, SHARE * age)
        if not sample.waiting:
            self._samples.remove(sample)
