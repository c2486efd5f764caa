"""Lets all workers play the phases of a shape one after the other, and merges their results.

It runs in Locust's master, or in the only process. Messages: ``headrace_phase`` and ``headrace_interrupt`` to the
workers, ``headrace_result`` from each of them. A worker whose phase is interrupted sends its result so far at once, and
again when everything is read back.
"""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from loadtest.runs.outcome import Outcome
from loadtest.runs.place import Place
from loadtest.samples.recording import Samples, since, usage
from loadtest.shapes.shape import Phase, Shape

FORMAT = 2
"""The format of the JSON; 1 had no samples."""
PHASE, INTERRUPT, RESULT = "headrace_phase", "headrace_interrupt", "headrace_result"
POLL = 0.5
"""Seconds between looks at the number of workers."""

Send = Callable[[str, Mapping[str, Any]], object]


class Conductor:
    """Conducts one run. ``send`` reaches every worker, and adds its number, from 0, as ``worker`` to the message.

    ``workers`` returns how many there are now.
    """

    def __init__(self, shape: Shape, send: Send, workers: Callable[[], int], say: Callable[[str], object] = print):
        self.shape = shape
        # Two runs may begin in the same second, and must not share rooms.
        self.run_name = f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{random.getrandbits(24):06x}"
        self.outcomes: list[Outcome] = []
        self.interrupted = False
        self.verdict = ""
        self._send = send
        self._workers = workers
        self._say = say
        self._parts: dict[int, Mapping[str, Any]] = {}
        self._final: set[int] = set()
        self._changed = threading.Condition()
        self._current: tuple[int, Phase, int] | None = None
        self._began = datetime.now(UTC)

    def conduct(self) -> None:
        """Play all phases; return when the last one has its result."""
        for number, phase in enumerate(self._phases()):
            self._play(number, phase, max(1, self._workers()))
            outcome = self._collected()
            self._current = None
            self.outcomes.append(outcome)
            if self.interrupted or outcome.partial:
                return
            if self.shape.limit is not None and (reason := outcome.too_much(self.shape.limit)):
                self.verdict = f"limit: {phase.name} is too much: {reason}"
                return

    def _phases(self) -> list[Phase]:
        limit = self.shape.limit
        if limit is None:
            return list(self.shape.phases)
        return [self.shape.phases[0].faster(limit.factor**step) for step in range(limit.steps)]

    def _play(self, number: int, phase: Phase, workers: int) -> None:
        with self._changed:
            self._parts, self._final, self._current = {}, set(), (number, phase, workers)
        self._say(f"{phase.name}: sending")
        # What is checked after the last phase takes a while; no step to a limit is known to be the last.
        last = self.shape.limit is None and not any(each.writes for each in self.shape.phases[number + 1 :])
        place = Place(self.run_name, number, last, 0, workers)
        self._send(PHASE, {"phase": phase.message(), "place": place.message()})
        with self._changed:
            while len(self._final) < min(workers, self._workers()):  # a worker that is gone sends no result
                self._changed.wait(POLL)

    def take(self, part: Mapping[str, Any]) -> None:
        """Take a result of a worker."""
        with self._changed:
            if self._current is None or part["phase"] != self._current[0]:
                return
            self._parts[part["worker"]] = part
            if part["final"]:
                self._final.add(part["worker"])
            self._changed.notify_all()

    def interrupt(self) -> None:
        """End the run: no more is sent, and what was accepted is read back."""
        self.interrupted = True
        if self._current is not None:
            self._say("interrupted: reading back what was accepted; again Ctrl-C ends without that")
            self._send(INTERRUPT, {})

    def _collected(self) -> Outcome:
        _, phase, workers = self._current or (0, self.shape.phases[0], 1)
        return Outcome(phase, list(self._parts.values()), workers)

    @property
    def all_outcomes(self) -> list[Outcome]:
        """Those of all phases, with what is known of the one that is playing."""
        return self.outcomes + ([self._collected()] if self._current is not None else [])

    @property
    def partial(self) -> bool:
        """Whether not all phases were played to their ends."""
        played = self.shape.limit is not None or len(self.outcomes) == len(self.shape.phases)
        return self.interrupted or not played or any(each.partial for each in self.all_outcomes)

    @property
    def exit_code(self) -> int:
        """0 only if the run is complete, and nothing is lost, altered or stored twice."""
        if self.partial or not self.outcomes:
            return 1
        if self.shape.limit is not None:
            return 0 if all(each.kept for each in self.outcomes) else 1
        return 0 if all(each.whole for each in self.outcomes) else 1

    def write(self, folder: Path, samples: Samples) -> Path:
        """Write the result with the ``samples`` of a :class:`Recording` as JSON into ``folder``; return its path."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{self.run_name}-{self.shape.name}.json"
        path.write_text(json.dumps(self.document(samples)), encoding="utf-8")
        return path

    def document(self, samples: Samples) -> dict[str, Any]:
        """The result of the run so far. Times are seconds since ``began``."""
        began = self._began.timestamp()
        taken = since(samples, began)
        return {
            "format": FORMAT,
            "run": self.run_name,
            "shape": {"name": self.shape.name, "description": self.shape.description},
            "began": self._began.isoformat(),
            "ended": datetime.now(UTC).isoformat(),
            "partial": self.partial,
            "passed": self.exit_code == 0,
            "verdict": self.verdict,
            "phases": [each.document() | _place(each, began, taken) for each in self.all_outcomes],
            "samples": taken,
        }

    def text(self, *paths: Path) -> str:
        """The text to print at the end, with the ``paths`` of the result; the last line is that of the last phase."""
        blocks = ["\n".join(each.lines()) for each in self.all_outcomes]
        head = [f"result: {path}" for path in paths]
        if self.partial:
            head.insert(0, "partial: the run did not reach its end")
        if self.verdict:
            head.insert(0, self.verdict)
        return "\n\n".join(["\n".join(head), *blocks])


def _place(outcome: Outcome, began: float, samples: Samples) -> dict[str, Any]:
    """When a phase began, in seconds of the run, and what was used until everything in it was stored."""
    begin = max(0.0, outcome.began - began)
    end = begin + max(outcome.seconds, outcome.readable_after)
    return {"began": round(begin, 3), "usage": usage(samples, begin, end)}
