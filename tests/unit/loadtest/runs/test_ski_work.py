"""A phase of rides has as many as its users take, also with a rate."""

from __future__ import annotations

from typing import Any

import pytest

from loadtest.client.credentials import Sender
from loadtest.client.target import Target
from loadtest.measured.measurements import Measurements
from loadtest.runs.place import Place
from loadtest.runs.ski_work import SkiWork
from loadtest.shapes.shape import Load, Phase

GATE = Sender("gate", True, lambda: "t")


class Stage(Target):
    def http(self, *_: Any, **__: Any) -> Any:
        return None


def work(load: Load, seconds: float, workers: int = 1, before: SkiWork | None = None) -> SkiWork:
    place = Place("r", 0, workers=workers)
    stage = Stage("http://127.0.0.1:1", "ws://127.0.0.1:1")
    return SkiWork(stage, Phase("rides", (load,), seconds, stream="ski"), place, Measurements(), before)


@pytest.mark.parametrize("workers", [1, 3])
def test_a_rate_for_some_seconds_has_a_ride_for_each_request(workers: int) -> None:
    rides = work(Load("HttpWriter", 128, rate=500.0), 2.0, workers)
    users = -(-128 // workers)

    taken = [rides.make(GATE, 0, 1) for _ in range(1000 * users // 128)]

    assert len({ride for (ride,) in taken}) == len(taken)


def test_questions_ask_for_rides_that_were_accepted_before() -> None:
    rides = work(Load("HttpWriter", 4, rate=10.0), 1.0)
    accepted = rides.make(GATE, 0, 1)
    rides.all_accepted += accepted
    questions = work(Load("RidesReader", 4, events=10), 0.0, before=rides)

    assert [questions.ride()] == accepted
