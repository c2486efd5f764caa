"""One worker's part of a phase: which users take part, what they take, and what they measured."""

from __future__ import annotations

import threading
import time
from collections import Counter
from typing import Any

from loadtest.checker.checker import SendCounts
from loadtest.checker.findings import Findings
from loadtest.client.target import Target
from loadtest.measured.measurements import Measurements
from loadtest.runs.ads_work import AdsWork
from loadtest.runs.chat_work import ChatWork
from loadtest.runs.declared_work import DeclaredWork
from loadtest.runs.place import Place
from loadtest.runs.request_log import RequestLog
from loadtest.runs.ski_work import SkiWork
from loadtest.sending.arrivals import Arrival, Arrivals
from loadtest.shapes.shape import Load, Phase
from localstage.client.errors import ClientError

READY_WITHIN = 120.0
"""Seconds until all users must be connected."""
PROBLEMS = 5
"""How many problems are kept."""

WORK = {"chat": ChatWork, "ski": SkiWork, "ads": AdsWork}
"""The work of each stream that is not declared."""
AnyWork = ChatWork | SkiWork | AdsWork | DeclaredWork


class PhaseRun:
    """Shared by the users of one worker, and safe to share between threads and greenlets. ``before`` is the work of the
    phase before it.

    Locust makes all users of a worker before the first of them plays.
    """

    def __init__(self, phase: Phase, place: Place, target: Target, before: AnyWork | None, log: str = "") -> None:
        self.phase = phase
        self.place = place
        self.target = target
        self.measurements = Measurements()
        kind: Any = WORK.get(phase.stream, DeclaredWork)
        former = before if before is not None and before.phase.stream == phase.stream else None
        self.work: AnyWork = kind(target, phase, place, self.measurements, former)
        self.requests = RequestLog(log, place)
        self.problems: list[str] = []
        self.interrupted = self.finished = False
        self._playing: Counter[str] = Counter()
        self._arrivals: dict[str, Arrivals] = {}
        self._ready = 0
        self._all_ready, self._begun, self._stopping = threading.Event(), threading.Event(), threading.Event()
        self.sending: Any = {"paced": phase.paced, "retry_timeout": phase.retry_timeout, "stopping": self._stopping}
        """The options of each :class:`Delivery`."""
        self._done = threading.Event()
        self._left = 0
        self._lock = threading.Lock()
        self.began_at = self.started = self.ended = 0.0

    def _arrivals_of(self, load: Load) -> Arrivals:
        events, rate = self.place.share(load.events), load.rate * self._playing[load.kind] / load.users
        return Arrivals(events, load.batch, rate, self.phase.seconds) if events or not load.events else Arrivals(0, 0)

    def join(self, kind: str) -> int:
        """Add a user of ``kind``; return its number among those of the same kind, from 0."""
        self._left += 1
        self._playing[kind] += 1
        return self._playing[kind] - 1

    def spawned(self) -> None:
        """Record that Locust has started all users: a worker may have none."""
        if not self._playing:
            self._all_ready.set()
            self._done.set()

    def ready(self) -> None:
        """Record that a user is connected or could not connect; return when all users are, and the phase begins."""
        with self._lock:
            self._ready += 1
            if self._ready == sum(self._playing.values()):
                self._all_ready.set()
        self._begun.wait()

    def take(self, kind: str) -> Arrival | None:
        """The next request of a user of ``kind``, when it is due; None when there are no more."""
        if self._stopping.is_set():
            return None
        arrival = self._arrivals[kind].take()
        if arrival is not None and arrival.due is not None:
            early = arrival.due - time.perf_counter()
            if early > 0 and self._stopping.wait(early):
                return None
        return arrival

    def leave(self) -> None:
        """Record that a user has nothing more to do."""
        with self._lock:
            self._left -= 1
            if not self._left:
                self.ended = time.monotonic()
                self._done.set()

    def fail(self, sentence: str) -> None:
        """Record that a user cannot continue. The others stop at their next request."""
        with self._lock:
            if len(self.problems) < PROBLEMS and sentence not in self.problems:
                self.problems.append(sentence)
        self._stopping.set()

    def interrupt(self) -> None:
        """Let all users stop at their next request."""
        self.interrupted = True
        self._stopping.set()

    def run(self) -> dict[str, Any]:
        """Let the users play, read everything back, and return the result as simple values."""
        if not self._all_ready.wait(READY_WITHIN):
            self.fail(f"not all users were connected within {READY_WITHIN:.0f} s")
        self._begin()
        self._done.wait()
        findings = None
        try:
            findings = self.work.read_back()
        except ClientError as error:
            self.fail(str(error))
        finally:
            self.work.close()
            self.requests.close()
            self.finished = True
        return self._message(findings)

    def _begin(self) -> None:
        try:
            self.work.begin()
        except ClientError as error:
            self.fail(str(error))
        self.measurements.start()
        self._arrivals = {load.kind: self._arrivals_of(load) for load in self.phase.loads if self._playing[load.kind]}
        self.began_at, self.started = time.time(), time.monotonic()
        self._begun.set()

    def _message(self, findings: Findings | None) -> dict[str, Any]:
        storing = findings.at - self.started if findings is not None and findings.at and self.started else 0.0
        ended = self.ended or time.monotonic()
        return _part(self.place, self.measurements, self.work.sent()) | {
            "found": None if findings is None else {**findings.counts(), "examples": findings.examples},
            "users": sum(self._playing.values()),
            "began": self.began_at,
            "unsent": sum(each.unsent for each in self._arrivals.values()),
            "seconds": ended - self.started if self.started else 0.0,
            "readable_after": storing,
            "problems": list(self.problems),
            "interrupted": self.interrupted,
        }


def failed_part(place: Place, sentence: str) -> dict[str, Any]:
    """The result of a worker that could not begin."""
    numbers = dict.fromkeys(("users", "began", "unsent", "seconds", "readable_after"), 0)
    nothing = _part(place, Measurements(), SendCounts().counts(0, 0, 0))
    return nothing | numbers | {"found": None, "problems": [sentence], "interrupted": False}


def _part(place: Place, measurements: Measurements, sent: dict[str, Any]) -> dict[str, Any]:
    return {
        "phase": place.number,
        "worker": place.worker,
        "measurements": measurements.message(),
        "sent": sent,
    }
