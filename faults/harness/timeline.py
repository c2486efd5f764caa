"""The timeline of a scenario: what was accepted and stored each second, what waited where, and the outages."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from faults.harness.lanes import Lanes
from faults.harness.ledger import Row
from faults.harness.services import Outage
from loadtest.report.plots import Line, LineChart, picture
from loadtest.samples.functions import FunctionUsage

INTERVAL = 1.0
"""Seconds between two samples."""
STORED = "Stored "
"""The metric's name before the lane."""
LANES = ("main", "retry", "dead")
Values = list[tuple[float, float | None]]


class Timeline:
    """Samples a scenario in a thread, from its construction to :meth:`stop`.

    ``lanes`` is used by this thread only; ``accepted`` counts the events accepted so far; ``logs`` is the folder of the
    functions' logs.
    """

    def __init__(self, lanes: Lanes, accepted: Callable[[], int], logs: Path) -> None:
        self.began = time.monotonic()
        self._lanes = lanes
        self._accepted = accepted
        self._usage = FunctionUsage(logs)
        self._rates: dict[str, Values] = {"accepted": [], "stored": []}
        self._waiting: dict[str, Values] = {name: [] for name in LANES}
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="timeline", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Take no more samples."""
        self._stopping.set()
        self._thread.join()

    def _run(self) -> None:
        then, accepted = self.began, self._accepted()
        while not self._stopping.wait(INTERVAL):
            now, total = time.monotonic(), self._accepted()
            at, seconds = now - self.began, now - then
            self._rates["accepted"].append((at, (total - accepted) / seconds))
            self._rates["stored"].append((at, self._stored(seconds)))
            for name, depth in zip(LANES, self._lanes.waiting(), strict=True):
                self._waiting[name].append((at, depth))
            then, accepted = now, total

    def _stored(self, seconds: float) -> float | None:
        try:
            counts = self._usage.take(seconds)["counts"]
        except OSError:  # a log was just removed
            return None
        return sum(rate for name, rate in counts.items() if name.startswith(STORED))

    def draw(self, row: Row, outages: Sequence[Outage], path: Path) -> None:
        """Draw the timeline as SVG; ``row`` is the result, and ``outages`` are shaded. Nothing without a sample."""
        if not self._rates["accepted"]:
            return
        last = max((at for at, _ in self._rates["accepted"]), default=1.0)
        shaded = [
            (each.began - self.began, (each.ended or time.monotonic()) - self.began)
            for each in outages
            if each.began >= self.began
        ]
        charts = [
            LineChart(title, unit, [Line(name, points) for name, points in lines.items()], last, shaded=shaded)
            for title, unit, lines in (
                ("Accepted and stored", "events per second", self._rates),
                ("Waiting in the lanes", "messages", self._waiting),
            )
        ]
        kept = "lost 0" if not row.lost else f"LOST {row.lost:,}"
        caption = f"{row.scenario}: {row.accepted:,} accepted, {row.stored:,} stored, {row.dead:,} dead, {kept}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(picture(caption, charts, caption), encoding="utf-8")
