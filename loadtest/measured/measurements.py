"""What one phase of a run measures: latencies and counts, in total and for each second."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from loadtest.measured.histogram import Histogram


class Measurements:
    """Latencies and counts by name. For the greenlets of one process: nothing is locked."""

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._second = 0
        self._latencies: defaultdict[str, Histogram] = defaultdict(Histogram)
        self._counts: Counter[str] = Counter()
        self._seconds: list[dict[str, Any]] = []

    def start(self) -> None:
        """Let the first second begin now."""
        self._started = time.monotonic()

    def record(self, name: str, seconds: float, count: int = 1) -> None:
        """Record ``count`` latencies of ``seconds``."""
        self._turn()
        self._latencies[name].record(seconds, count)

    def count(self, name: str, number: int = 1) -> None:
        """Count ``number`` more."""
        self._turn()
        self._counts[name] += number

    def message(self) -> list[dict[str, Any]]:
        """The counts and latencies of each second so far, for :class:`Merged` in another process."""
        self._close()
        return self._seconds

    def _turn(self) -> None:
        second = int(time.monotonic() - self._started)
        if second != self._second:
            self._close()
            self._second = second

    def _close(self) -> None:
        """Keep the values of the current second, and begin with empty ones."""
        latencies = {name: each.encoded() for name, each in self._latencies.items()}
        if latencies or self._counts:
            self._seconds.append({"second": self._second, "counts": dict(self._counts), "latencies": latencies})
        self._latencies = defaultdict(Histogram)  # new histograms cost less than clearing these
        self._counts.clear()


class Merged:
    """The measurements of several processes together."""

    def __init__(self) -> None:
        self.latencies: defaultdict[str, Histogram] = defaultdict(Histogram)
        self.counts: Counter[str] = Counter()
        self._seconds: dict[int, tuple[Counter[str], defaultdict[str, Histogram]]] = {}

    def add(self, message: Sequence[Mapping[str, Any]]) -> None:
        """Add a :meth:`Measurements.message`."""
        for each in message:
            for counts, latencies in (
                (self.counts, self.latencies),
                self._seconds.setdefault(each["second"], (Counter(), defaultdict(Histogram))),
            ):
                counts.update(each["counts"])
                for name, text in each["latencies"].items():
                    latencies[name].add(text)

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
