"""An erasure leaves time to others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from headrace.core.people import Progress, Target
from headrace.features.people.erasure.eraser import ROWS_PER_SECOND, Eraser, rounds_of
from headrace.features.people.erasures import Task
from headrace.features.people.hashes import PersonHashes
from headrace.features.people.jobs import MARGIN, RUNNING, Job
from tests.fakes.clock import FixedClock

AT = "2026-11-28T10:00:00.000000Z"


class Begun:
    """One erasure, and no queue."""

    def begin(self, *_: Any) -> Job:
        return Job(AT, RUNNING)

    def add(self, *_: Any) -> None:
        pass

    def send(self, *_: Any) -> None:
        pass


def pauses_of(parts: Sequence[tuple[int, float]], seconds_left: float) -> list[float]:
    """How long an erasure pauses after each part, which are a number of rows and the seconds that they take."""
    now, pauses = [0.0], list[float]()

    def sleep(seconds: float) -> None:
        pauses.append(round(seconds, 6))
        now[0] += seconds

    def step(_: Target) -> Progress:
        for count, seconds in parts:
            now[0] += seconds
            yield "messages", count

    begun = cast(Any, Begun())
    eraser = Eraser(
        rounds_of([step], [], age=60, storing=60, window=60),
        begun,
        begun,
        PersonHashes(lambda: "6b6579" * 8),
        FixedClock(AT),
        monotonic=lambda: now[0],
        sleep=sleep,
    )
    eraser.run(Task("ann", None, AT), lambda: seconds_left - now[0])
    return pauses


def test_an_erasure_pauses_after_each_part_unless_it_took_long() -> None:
    parts = [(ROWS_PER_SECOND, 0.2), (ROWS_PER_SECOND // 2, 0.2), (ROWS_PER_SECOND, 3.0), (0, 0.1)]

    assert pauses_of(parts, 900.0) == [0.8, 0.3, 0.0, 0.0]


def test_a_pause_leaves_time_to_send_the_next_slice() -> None:
    assert pauses_of([(25 * ROWS_PER_SECOND, 1.0)], MARGIN + 5) == [4.0]
