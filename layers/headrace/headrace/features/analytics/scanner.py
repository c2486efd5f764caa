"""Reads the rows of a span of time and counts them by step: all partitions in parallel, each page by page."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace

from headrace.core import times
from headrace.core.errors import StoreThrottled
from headrace.core.times import Clock
from headrace.features.analytics.aggregate import Aggregate, StepCounter
from headrace.features.analytics.requests import Scope
from headrace.features.analytics.time_slots import Span
from headrace.storage.reading import ColumnReader, Query

_TOO_MANY = "the window has more events than one request can read; try again, and it continues where it stopped"
PARALLEL_READS = 8
"""Pages that one environment reads at the same time."""

Found = dict[int, Aggregate]
"""Aggregates by the start of the step (epoch seconds)."""


class Scanner:
    """Reads ``parallel`` pages at a time. ``units`` is the sum of the read units of all scans."""

    def __init__(self, reader: ColumnReader, table: str, clock: Clock, parallel: int = PARALLEL_READS) -> None:
        self._reader = reader
        self._table = table
        self._clock = clock
        self._pool = ThreadPoolExecutor(parallel, "scan")
        self.units = 0.0

    def start(self, scope: Scope, spans: Sequence[tuple[Span, int]], deadline: float) -> Reading:
        """Start to read the rows of each of ``spans``, which are given with the step to count by.

        After ``deadline`` (monotonic seconds) no page is read.
        """
        now = self._clock.now() // times.SECOND
        counted = [StepCounter(scope.attributes, now, dict(scope.narrowed), step, scope.sums) for _, step in spans]
        stop = threading.Event()
        lock = threading.Lock()

        def read(counter: StepCounter, query: Query) -> None:
            while not stop.is_set():
                if time.monotonic() >= deadline:
                    raise StoreThrottled(_TOO_MANY, retry_after=1)
                page = self._reader.read(query)
                with lock:
                    self.units += page.units
                    counter.add(page)
                if page.more is None:
                    return
                query = replace(query, start=page.more)

        reading = [
            self._pool.submit(read, counter, query)
            for counter, (span, _) in zip(counted, spans, strict=True)
            for query in scope.queries(self._table, span)
        ]
        return Reading(counted, reading, stop)


@dataclass(frozen=True, slots=True)
class Reading:
    """A running scan."""

    counted: Sequence[StepCounter]
    reading: Sequence[Future[None]]
    stop: threading.Event

    def result(self) -> list[Found]:
        """Wait for the aggregates of each span.

        Raises:
            headrace.core.errors.StoreUnavailable: the table did not answer before the deadline.
        """
        done, _ = wait(self.reading, return_when=FIRST_EXCEPTION)
        self.end()
        for each in done:
            each.result()
        return [counter.aggregates() for counter in self.counted]

    def end(self) -> None:
        """Start no further read, and wait for the running ones."""
        self.stop.set()
        for each in self.reading:
            each.cancel()
        wait(self.reading)
