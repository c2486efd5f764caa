"""Locust's shape of a run: the users of one phase after the other, each when the one before is read back.

It runs in Locust's master, or in the only process. Messages: ``headrace_phase`` and ``headrace_interrupt`` to the
workers, ``headrace_result`` from each of them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from locust import LoadTestShape, User

from loadtest.runs.outcome import Outcome
from loadtest.runs.place import Place
from loadtest.runs.result import RunResult
from loadtest.shapes.shape import Phase, Shape

PHASE, INTERRUPT, RESULT = "headrace_phase", "headrace_interrupt", "headrace_result"
POLL = 0.5
"""Seconds between looks at the number of workers."""
LEAVE = (0, 1_000.0)
"""The tick after a phase: its users leave, so that Locust starts those of the next one."""

Send = Callable[[str, Mapping[str, Any]], object]


class Phases(LoadTestShape):
    """Plays the phases of ``shape``, each with its own ``classes`` of users.

    ``send`` reaches every worker, and adds its number, from 0, as ``worker`` to the message. ``workers`` returns how
    many there are now. ``begin`` is called before a run, and ``end`` with its result.
    """

    abstract = True  # Locust does not look for shapes with arguments

    def __init__(
        self,
        shape: Shape,
        classes: Sequence[Sequence[type[User]]],
        send: Send,
        workers: Callable[[], int],
        begin: Callable[[], object],
        end: Callable[[RunResult], object],
        say: Callable[[str], object] = print,
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.shape = shape
        self.result: RunResult | None = None
        """The result of the run that is playing."""
        self.idle = threading.Event()
        """Set while no run is playing."""
        self.idle.set()
        self._classes = classes
        self._send = send
        self._workers = workers
        self._begin = begin
        self._end = end
        self._say = say
        self._playing: tuple[Place, Phase] | None = None
        self._parts: dict[int, Mapping[str, Any]] = {}
        self._changed = threading.Condition()

    def tick(self) -> tuple[int, float] | tuple[int, float, list[type[User]] | None] | None:
        """The users of the next phase, when the phase before has its result; None at the end of the run."""
        if self.result is None:
            self.idle.clear()
            self.result = RunResult(self.shape)
            self._begin()
        elif self._playing is not None:
            self._wait(*self._playing)
            if not self._is_over:
                return LEAVE
        if self._is_over:
            self._end(self.result)
            self.result = None
            self.idle.set()
            return None
        return self._play(len(self.result.outcomes))

    def _play(self, number: int) -> tuple[int, float, list[type[User]]]:
        assert self.result is not None  # noqa: S101 - for mypy: the run has begun
        phase = self.shape.steps[number]
        # What is checked after the last phase takes a while; no step to a limit is known to be the last.
        last = self.shape.limit is None and not any(each.writes for each in self.shape.phases[number + 1 :])
        place = Place(self.result.name, number, last, 0, max(1, self._workers()))
        with self._changed:
            self._parts, self._playing = {}, (place, phase)
        self._say(f"{phase.name}: sending")
        self._send(PHASE, {"phase": asdict(phase), "place": asdict(place)})
        return phase.users, float(phase.users), list(self._classes[number])

    def _wait(self, place: Place, phase: Phase) -> None:
        """Wait for the results of all workers, and add them to that of the run."""
        with self._changed:
            # A worker that is gone sends no result.
            while len(self._parts) < min(place.workers, self._workers()):
                self._changed.wait(POLL)
            self._playing = None
        outcome, limit = Outcome(phase, list(self._parts.values()), place.workers), self.shape.limit
        assert self.result is not None  # noqa: S101 - for mypy: the run has begun
        self.result.outcomes.append(outcome)
        if limit is not None and not phase.cold and not outcome.partial and (reason := outcome.too_much(limit)):
            self.result.verdict = f"limit: {phase.name} is too much: {reason}"

    @property
    def _is_over(self) -> bool:
        found = self.result
        return found is not None and (
            found.interrupted
            or bool(found.verdict)
            or len(found.outcomes) == len(self.shape.steps)
            or any(each.partial for each in found.outcomes)
        )

    def take(self, part: Mapping[str, Any]) -> None:
        """Take a result of a worker."""
        with self._changed:
            if self._playing is not None and part["phase"] == self._playing[0].number:
                self._parts[part["worker"]] = part
                self._changed.notify_all()

    def interrupt(self) -> None:
        """End the run: no more is sent, and what was accepted is read back."""
        if self.result is not None:
            self.result.interrupted = True
            if self._playing is not None:
                self._say("interrupted: reading back what was accepted; press Ctrl-C again to end without a result")
                self._send(INTERRUPT, {})
