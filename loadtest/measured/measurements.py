"""What one phase of a run measures: latencies and counts, in total and for each second."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from loadtest.measured.histogram import Histogram


class Measurements:
    """Latencies and counts by name. ``clock`` is in seconds. For the greenlets of one process: nothing is locked."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.latencies: dict[str, Histogram] = {}
        self.counts: Counter[str] = Counter()
        self._clock = clock
        self._started = clock()
        self._second = 0
        self._now_latencies: dict[str, Histogram] = {}
        self._now_counts: Counter[str] = Counter()
        self._seconds: list[dict[str, Any]] = []

    def start(self) -> None:
        """Let the first second begin now."""
        self._started = self._clock()

    def record(self, name: str, seconds: float, count: int = 1) -> None:
        """Record ``count`` latencies of ``seconds``."""
        self._turn()
        for latencies in (self.latencies, self._now_latencies):
            if name not in latencies:
                latencies[name] = Histogram()
            latencies[name].record(seconds, count)

    def count(self, name: str, number: int = 1) -> None:
        """Count ``number`` more."""
        self._turn()
        self.counts[name] += number
        self._now_counts[name] += number

    def message(self) -> dict[str, Any]:
        """Everything so far, for :class:`Merged` in another process."""
        self._close()
        return {
            "counts": dict(self.counts),
            "latencies": {name: histogram.encoded() for name, histogram in self.latencies.items()},
            "seconds": self._seconds,
        }

    def _turn(self) -> None:
        second = int(self._clock() - self._started)
        if second != self._second:
            self._close()
            self._second = second

    def _close(self) -> None:
        """Keep the values of the current second, and begin with empty ones."""
        latencies = {name: each.encoded() for name, each in self._now_latencies.items()}
        if latencies or self._now_counts:
            self._seconds.append({"second": self._second, "counts": dict(self._now_counts), "latencies": latencies})
        self._now_latencies = {}  # new histograms cost less than clearing these
        self._now_counts.clear()


class Merged:
    """The measurements of several processes together."""

    def __init__(self) -> None:
        self.latencies: dict[str, Histogram] = {}
        self.counts: Counter[str] = Counter()
        self._seconds: dict[int, tuple[Counter[str], dict[str, Histogram]]] = {}

    def add(self, message: Mapping[str, Any]) -> None:
        """Add a :meth:`Measurements.message`."""
        self.counts.update(message["counts"])
        _add(self.latencies, message["latencies"])
        for each in message["seconds"]:
            counts, latencies = self._seconds.setdefault(each["second"], (Counter(), {}))
            counts.update(each["counts"])
            _add(latencies, each["latencies"])

    def timeline(self) -> list[dict[str, Any]]:
        """Counts and percentiles of each second, in order."""
        return [
            {
                "second": second,
                "counts": dict(counts),
                "latencies": {name: each.summary() for name, each in sorted(latencies.items())},
            }
            for second, (counts, latencies) in sorted(self._seconds.items())
        ]


def _add(into: dict[str, Histogram], encoded: Mapping[str, str]) -> None:
    for name, text in encoded.items():
        if name not in into:
            into[name] = Histogram()
        into[name].add(Histogram.decoded(text))
