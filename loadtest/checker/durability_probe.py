"""Measures the durable latency: how long an accepted event takes until it can be read back."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from loadtest.client.chat_events import ChatEvent, after
from localstage.client.errors import ClientError
from localstage.client.http_api import HttpApi

INTERVAL = 0.1
GIVE_UP = 60.0
LARGEST = 25


@dataclass
class _Sample:
    room: str
    start: str
    end: str
    first_sent: float
    waiting: set[str]
    give_up_at: float = field(default_factory=lambda: time.perf_counter() + GIVE_UP)


class DurabilityProbe:
    """Samples accepted frames and looks for their events in the room's history.

    The durable latency of an event lasts from its first send until the first history page that contains it. Only
    acknowledged events are sampled, up to 25 of one frame and one room at a time. A sample is read with a page of
    exactly its times, at once and then every ``interval`` seconds, so a value is too long by at most one interval and
    one request. At most ``outstanding`` samples are read at a time, so the probe makes at most ``outstanding /
    interval`` requests a second under any load. A sample that is not found within 60 s has no value. ``on_found`` is
    called with each latency and the number of events.
    """

    def __init__(
        self,
        reader: HttpApi,
        *,
        interval: float = INTERVAL,
        outstanding: int = 2,
        on_found: Callable[[float, int], object] = lambda _seconds, _count: None,
    ) -> None:
        self.seconds: list[float] = []
        self._on_found = on_found
        self._reader = reader
        self._interval = interval
        self._outstanding = outstanding
        self._samples: list[_Sample] = []
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="durability-probe", daemon=True)

    def start(self) -> None:
        """Start; :meth:`offer` provides the samples."""
        self._thread.start()

    def offer(self, events: Sequence[ChatEvent], first_sent: float) -> None:
        """Take the acknowledged ``events`` of one frame as a sample, unless enough samples are outstanding."""
        if len(self._samples) >= self._outstanding or self._stopping.is_set():
            return
        room = events[0].room_id
        mine = [event for event in events if event.room_id == room][:LARGEST]
        times = [event.timestamp for event in mine]
        ids = {event.message_id for event in mine}
        with self._lock:
            self._samples.append(_Sample(room, min(times), after(max(times)), first_sent, ids))

    def finish(self) -> list[float]:
        """Take no more samples, wait for the outstanding ones, and return all latencies in seconds."""
        self._stopping.set()
        self._thread.join()
        return self.seconds

    def _run(self) -> None:
        while not self._stopping.is_set() or self._samples:
            started = time.perf_counter()
            for sample in list(self._samples):
                self._check(sample)
            time.sleep(max(0.0, self._interval - (time.perf_counter() - started)))

    def _check(self, sample: _Sample) -> None:
        try:
            page = self._reader.room_page(sample.room, limit=200, start=sample.start, end=sample.end)
        except ClientError:
            page = {"items": []}  # an event that the next attempt finds has the longer latency
        now = time.perf_counter()
        found = sample.waiting.intersection(item.get("messageId") for item in page["items"])
        if found:
            self.seconds.extend([now - sample.first_sent] * len(found))
            self._on_found(now - sample.first_sent, len(found))
        sample.waiting -= found
        if not sample.waiting or now >= sample.give_up_at:
            with self._lock:
                self._samples.remove(sample)
