"""Runs erasures in slices: the steps of a round one after the other, for as long as an invocation has time."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from headrace.core import times
from headrace.core.times import Clock
from headrace.erasure.people import SKIER, USER, Person, PersonHashes
from headrace.erasure.screen import OLD
from headrace.erasure.tasks import DONE, Erasures, Step, Target, Task, TaskQueue

WRITE_SECONDS = 60
"""The timeout of persist_events: an event that was not looked up is stored by then, or returns to a lane."""
SETTLE_SECONDS = OLD // times.SECOND + WRITE_SECONDS + 30
"""Seconds between the two rounds: until every event that was not looked up is stored, and 30 s for clocks that differ.
"""
ARCHIVE_SECONDS = 180
"""Seconds between the second round and the third: until the archive has every change. Its mappings wait for 60 s."""
MARGIN = 30.0
"""Seconds that an invocation keeps for its last part and for sending the next slice."""
SAVE_SECONDS = 1.0
ROWS_PER_SECOND = 200
"""An erasure pauses for the traffic of others, and has ten minutes for 100,000 rows."""


class Eraser:
    """Runs the ``steps`` of erasures, and those ``after_storing`` when the archive has what they changed."""

    def __init__(
        self,
        steps: Sequence[Step],
        erasures: Erasures,
        queue: TaskQueue,
        hashes: PersonHashes,
        clock: Clock,
        monotonic: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
        after_storing: Sequence[Step] = (),
    ) -> None:
        self._rounds: Mapping[int, Sequence[Step]] = {1: steps, 2: steps, 3: after_storing}
        self._erasures = erasures
        self._queue = queue
        self._hashes = hashes
        self._clock = clock
        self._monotonic = monotonic
        self._sleep = sleep

    def run(self, task: Task, remaining: Callable[[], float]) -> None:
        """Run a slice, and send the next one, unless the erasure is done. ``remaining`` are the seconds left.

        Raises:
            Unavailable: a dependency does not answer. The slice can be run again.
        """
        skier = None if task.skier_id is None else self._hashes.key(Person(SKIER, task.skier_id))
        erasure = self._erasures.begin(self._key(task.user_id), task.erased_at, skier)
        if erasure.state == DONE or erasure.erased_at != task.erased_at:
            return  # delivered twice, or requested twice at once
        if skier is not None:
            self._erasures.bury(skier, task.erased_at)
        target = self._target(task)
        steps = self._rounds[task.round]
        for number in range(task.step, len(steps)):
            if not self._run_step(steps[number], target, remaining):
                self._queue.send(replace(task, step=number))
                return
        if task.round == 1:
            self._queue.send(replace(task, round=2, step=0), SETTLE_SECONDS)
        elif task.round == 2 and self._rounds[3]:
            self._queue.send(replace(task, round=3, step=0), ARCHIVE_SECONDS)
        else:
            self._erasures.finish(self._key(task.user_id), task.erased_at, times.iso(self._clock.now()))

    def _key(self, user_id: str) -> str:
        return self._hashes.key(Person(USER, user_id))

    def _run_step(self, step: Step, target: Target, remaining: Callable[[], float]) -> bool:
        """Whether the step came to its end in time."""
        counts: Counter[str] = Counter()
        saved = began = self._monotonic()
        progress = step(target)
        try:
            for name, count in progress:
                counts[name] += count
                pause = max(0.0, began + count / ROWS_PER_SECOND - self._monotonic())
                spare = remaining() - MARGIN
                self._sleep(min(pause, max(0.0, spare)))
                began = self._monotonic()
                if self._monotonic() - saved > SAVE_SECONDS:
                    self._save(target, counts)
                    saved = self._monotonic()
                if pause >= spare:
                    return False
        finally:
            progress.close()
            self._save(target, counts)
        return True

    def _save(self, target: Target, counts: Counter[str]) -> None:
        found = {name: count for name, count in counts.items() if count}
        if found:
            self._erasures.add(self._key(target.user_id), target.erased_at, found)
        counts.clear()

    def _target(self, task: Task) -> Target:
        user, skier = Person(USER, task.user_id), Person(SKIER, task.skier_id or "")
        return Target(
            task.user_id,
            task.skier_id,
            task.erased_at,
            self._hashes.pseudonym(user, task.erased_at),
            self._hashes.pseudonym(skier, task.erased_at),
            task.round == 2,
        )
