"""Runs erasures in slices: the steps of a round one after the other, for as long as an invocation has time."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from headrace.core import times
from headrace.core.people import Step, Target
from headrace.core.times import Clock
from headrace.features.people.erasures import DynamoErasures, Task
from headrace.features.people.hashes import SKIER, USER, Person, PersonHashes
from headrace.features.people.jobs import DONE, MARGIN, TaskQueue

SAVE_SECONDS = 1.0
ROWS_PER_SECOND = 200
"""An erasure pauses for the traffic of others, and has ten minutes for 100,000 rows."""


Round = tuple[Sequence[Step], int]
"""Steps, and the seconds of the pause before them."""


def rounds_of(steps: Sequence[Step], archive: Sequence[Step], age: int, storing: int, window: int) -> Sequence[Round]:
    """The rounds of an erasure; the last one, of the ``archive``, can be empty. Times are in seconds.

    The second one begins when every event from before the erasure is of the ``age`` from which it is looked up, and
    what was read earlier is stored, or back in a lane by the time limit of ``storing``. Half of the age is for clocks
    that differ. The last one begins when the archive has every change: after the ``window`` of its mappings, and as
    long for each of two tries.
    """
    return (steps, 0), (steps, age + age // 2 + storing), (archive, 3 * window)


@dataclass(frozen=True, slots=True)
class Eraser:
    """Runs erasures in three ``rounds``."""

    rounds: Sequence[Round]
    erasures: DynamoErasures
    queue: TaskQueue
    hashes: PersonHashes
    clock: Clock
    monotonic: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep

    def run(self, task: Task, remaining: Callable[[], float]) -> None:
        """Run a slice, and send the next one, unless the erasure is done. ``remaining`` are the seconds left.

        Raises:
            Unavailable: a dependency does not answer. The slice can be run again.
        """
        skier = None if task.skier_id is None else self.hashes.key(Person(SKIER, task.skier_id))
        erasure = self.erasures.begin(self._key(task.user_id), task.erased_at, skier)
        if erasure.state == DONE or erasure.began_at != task.erased_at:
            return  # delivered twice, or requested twice at once
        if skier is not None:
            self.erasures.bury(skier, task.erased_at)
        target = self._target(task)
        steps, _ = self.rounds[task.round - 1]
        for number in range(task.step, len(steps)):
            if not self._run_step(steps[number], target, remaining):
                self.queue.send(replace(task, step=number))
                return
        for following, pause in self.rounds[task.round : task.round + 1]:
            if following:
                self.queue.send(replace(task, round=task.round + 1, step=0), pause)
                return
        self.erasures.finish(self._key(task.user_id), task.erased_at, times.iso(self.clock.now()))

    def _key(self, user_id: str) -> str:
        return self.hashes.key(Person(USER, user_id))

    def _run_step(self, step: Step, target: Target, remaining: Callable[[], float]) -> bool:
        """Whether the step came to its end in time."""
        counts: Counter[str] = Counter()
        saved = began = self.monotonic()
        progress = step(target)
        try:
            for name, count in progress:
                counts[name] += count
                pause = max(0.0, began + count / ROWS_PER_SECOND - self.monotonic())
                spare = remaining() - MARGIN
                self.sleep(min(pause, max(0.0, spare)))
                began = self.monotonic()
                if self.monotonic() - saved > SAVE_SECONDS:
                    self._save(target, counts)
                    saved = self.monotonic()
                if pause >= spare:
                    return False
        finally:
            progress.close()
            self._save(target, counts)
        return True

    def _save(self, target: Target, counts: Counter[str]) -> None:
        found = {name: count for name, count in counts.items() if count}
        if found:
            self.erasures.add(self._key(target.user_id), target.erased_at, found)
        counts.clear()

    def _target(self, task: Task) -> Target:
        user, skier = Person(USER, task.user_id), Person(SKIER, task.skier_id or "")
        return Target(
            task.user_id,
            task.skier_id,
            task.erased_at,
            self.hashes.pseudonym(user, task.erased_at),
            self.hashes.pseudonym(skier, task.erased_at),
            task.round == 2,
        )
