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
from headrace.features.people.hashes import SKIER, Person, PersonHashes
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
    """Runs erasures in three ``rounds``, and deletions of rooms in ``room_rounds``."""

    rounds: Sequence[Round]
    erasures: DynamoErasures
    queue: TaskQueue
    hashes: PersonHashes
    clock: Clock
    monotonic: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    room_rounds: Sequence[Round] = ()

    def run(self, task: Task, remaining: Callable[[], float]) -> None:
        """Run a slice, and send the next one, unless the erasure is done. ``remaining`` are the seconds left.

        Raises:
            Unavailable: a dependency does not answer. The slice can be run again.
        """
        skier = None if task.skier_id is None else self.hashes.key(Person(SKIER, task.skier_id))
        key = self.hashes.key(task.person)
        erasure = self.erasures.begin(key, task.erased_at, task.owner if skier is None else skier)
        if erasure.state == DONE or erasure.began_at != task.erased_at:
            return  # delivered twice, or requested twice at once
        if skier is not None:
            self.erasures.bury(skier, task.erased_at)
        target, rounds = self._target(task), self.room_rounds if task.room_id else self.rounds
        steps, _ = rounds[task.round - 1]
        for number in range(task.step, len(steps)):
            if not self._run_step(steps[number], key, target, remaining):
                self.queue.send(replace(task, step=number))
                return
        for following, pause in rounds[task.round : task.round + 1]:
            if following:
                self.queue.send(replace(task, round=task.round + 1, step=0), pause)
                return
        self.erasures.finish(key, task.erased_at, times.iso(self.clock.now()))

    def _run_step(self, step: Step, key: str, target: Target, remaining: Callable[[], float]) -> bool:
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
                    self._save(key, target, counts)
                    saved = self.monotonic()
                if pause >= spare:
                    return False
        finally:
            progress.close()
            self._save(key, target, counts)
        return True

    def _save(self, key: str, target: Target, counts: Counter[str]) -> None:
        found = {name: count for name, count in counts.items() if count}
        if found:
            self.erasures.add(key, target.erased_at, found)
        counts.clear()

    def _target(self, task: Task) -> Target:
        skier = Person(SKIER, task.skier_id or "")
        return Target(
            task.user_id,
            task.skier_id,
            task.erased_at,
            self.hashes.pseudonym(task.person, task.erased_at),
            self.hashes.pseudonym(skier, task.erased_at),
            task.round == 2,
            task.room_id,
        )
