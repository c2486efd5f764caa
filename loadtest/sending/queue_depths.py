"""Samples the accepted events and the depths of the main and retry lanes every two seconds, by ``GET /status``."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from rich.table import Table

from localstage.client.errors import ClientError
from localstage.client.http_api import HttpApi

INTERVAL = 2.0
"""Seconds between samples."""
LANES = ("main", "retry", "dead", "parking")
"""The queues that hold events: the lanes, and the parking queue."""


@dataclass(frozen=True)
class Sample:
    """The ``phase``, the ``accepted`` events and the depths of both lanes at ``seconds`` of the run.

    A depth is ``None`` when the stage does not report it.
    """

    seconds: float
    phase: str
    accepted: int
    main: int | None
    retry: int | None


class QueueDepths:
    """Takes samples in a thread. ``operator`` has the scope ``ops``; ``accepted`` counts accepted events.

    Without an operator the depths are unknown.
    """

    def __init__(self, operator: HttpApi | None, accepted: Callable[[], int]) -> None:
        self._lanes = Lanes(operator)
        self._accepted = accepted
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self.phase = ""
        self.samples: list[Sample] = []

    def start(self) -> None:
        """Start, with the first sample now."""
        self._thread.start()

    def finish(self) -> None:
        """Stop after the current sample."""
        self._stopped.set()
        self._thread.join(2 * INTERVAL)

    def wait_until_drained(self, patience: float) -> bool:
        """Wait until both lanes are empty twice in a row; return False after ``patience`` seconds.

        Without an operator it returns True at once: all queries wait for what is not stored yet.
        """
        if not self._lanes.known:
            return True
        deadline = time.monotonic() + patience
        empty = 0
        while empty < 2 and time.monotonic() < deadline:
            main, retry = self._depths()
            empty = empty + 1 if main == 0 and retry == 0 else 0
            time.sleep(INTERVAL)
        return empty == 2

    def _watch(self) -> None:
        began = time.monotonic()
        while not self._stopped.is_set():
            main, retry = self._depths()
            now = time.monotonic() - began
            self.samples.append(Sample(now, self.phase, self._accepted(), main, retry))
            self._stopped.wait(INTERVAL)

    def _depths(self) -> tuple[int | None, int | None]:
        found = self._lanes.depths()
        return found["main"], found["retry"]


class Lanes:
    """The depths of all queues, by ``GET /status``. ``operator`` has the scope ops; without one they are unknown."""

    def __init__(self, operator: HttpApi | None) -> None:
        self._operator = operator

    @property
    def known(self) -> bool:
        """Whether a token has the scope ops."""
        return self._operator is not None

    def depths(self) -> dict[str, int | None]:
        """The depth of each of ``LANES``; None if it is not known."""
        if self._operator is not None:
            with suppress(ClientError, KeyError, TypeError, AttributeError):
                return depths_of(self._operator.get("/status"))
        return dict.fromkeys(LANES)

    def waiting(self) -> int:
        """How many events the main and the retry lane hold; 0 if it is not known."""
        found = self.depths()
        return (found["main"] or 0) + (found["retry"] or 0)

    def waiting_of(self, missing: int) -> int:
        """How many of ``missing`` accepted events may be in the lanes, and so are not lost."""
        return min(missing, self.waiting()) if missing else 0

    def close(self) -> None:
        """Close the connections."""
        if self._operator is not None:
            self._operator.close()


def depths_of(status: Mapping[str, Any]) -> dict[str, int | None]:
    """The depth of each of ``LANES`` in the answer of ``GET /status``; None if it is not known."""
    lanes = status["lanes"]
    parked = lanes["parked"].get("ready")
    return {
        "main": _main(lanes["main"]),
        "retry": _sqs(lanes["retry"]),
        "dead": _sqs(lanes["dead"]),
        "parking": None if parked is None else int(parked),
    }


def _main(lane: Mapping[str, Any]) -> int | None:
    try:
        return sum(int(each["ready"]) for each in lane["queues"].values())
    except (KeyError, TypeError):
        return None


def _sqs(lane: Mapping[str, Any]) -> int | None:
    if lane["state"] not in ("empty", "holding"):
        return None
    return sum(int(value) for name, value in lane.items() if name != "state")


def table(samples: Sequence[Sample], what: str, rows: int = 30) -> Table:
    """About ``rows`` samples of a run, with the rate between them; ``what`` names the events."""
    thin = max(1, len(samples) // rows)
    shown = Table(box=None, padding=(0, 2, 0, 0))
    shown.add_column("phase")
    for title in ("second", f"{what}/s", "accepted", "main lane", "retry lane"):
        shown.add_column(title, justify="right")
    before: Sample | None = None
    for sample in samples[::thin]:
        rate = "" if before is None else f"{_rate(before, sample):,.0f}"
        phase = "" if before is not None and before.phase == sample.phase else sample.phase
        depths = ("?" if depth is None else f"{depth:,}" for depth in (sample.main, sample.retry))
        shown.add_row(phase, f"{sample.seconds:.0f}", rate, f"{sample.accepted:,}", *depths)
        before = sample
    return shown


def _rate(before: Sample, after: Sample) -> float:
    return (after.accepted - before.accepted) / max(0.001, after.seconds - before.seconds)
