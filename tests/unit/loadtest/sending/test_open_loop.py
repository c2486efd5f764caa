"""An open loop measures a stall of the stage in every request that it delays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from loadtest.sending.http_sender import PostRequest, SendStatistics
from loadtest.sending.open_loop import OpenLoop, ScheduledRequest
from localstage.client.errors import HttpError


class Stalling:
    """An API with a simulated clock: the first POST takes ``stall`` seconds, each other 0.01 s."""

    def __init__(self, stall: float, *, refuses: int = 0) -> None:
        self.now = 100.0
        self.posted: list[float] = []
        self._takes = stall
        self._refuses = refuses

    def clock(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def post(self, _path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        self.posted.append(self.now)
        self.now += self._takes
        self._takes = 0.01
        if len(self.posted) <= self._refuses:
            raise HttpError(503, "unavailable", "", 1.0)
        return {"results": [{"lane": "main"} for _ in body["events"]]}


def schedule(*times: float, repeated: bool = False) -> list[ScheduledRequest[str]]:
    return [
        ScheduledRequest(at, PostRequest("/batch", ["a"], lambda left: {"events": list(left)}), repeated)
        for at in times
    ]


def open_loop(api: Stalling, statistics: SendStatistics) -> OpenLoop[str]:
    return OpenLoop(api, statistics, 1, clock=api.clock, pause=api.sleep)  # type: ignore[arg-type]


def test_no_request_is_posted_before_its_time() -> None:
    api, statistics, done = Stalling(0.01), SendStatistics(), list[int]()

    open_loop(api, statistics).run(schedule(0.0, 1.0, 2.0), api.now + 5, done.append)

    assert api.posted == pytest.approx([105.0, 106.0, 107.0])
    assert (statistics.accepted, sum(done)) == (3, 3)


def test_latency_counts_from_the_scheduled_time() -> None:
    api, statistics = Stalling(3.0), SendStatistics()

    open_loop(api, statistics).run(schedule(0.0, 1.0, 2.0, 9.0), api.now, lambda _: None)

    assert list(statistics.seconds) == pytest.approx([3.0, 2.01, 1.02, 0.01])


def test_latency_of_a_retried_request_counts_from_the_first_attempt() -> None:
    api, statistics = Stalling(0.01, refuses=1), SendStatistics()

    open_loop(api, statistics).run(schedule(0.0), api.now, lambda _: None)

    assert statistics.accepted == 1
    assert statistics.seconds[0] > 1.0


def test_a_repeated_request_counts_once() -> None:
    api, statistics, done = Stalling(0.01), SendStatistics(), list[int]()

    open_loop(api, statistics).run([*schedule(0.0), *schedule(0.1, repeated=True)], api.now, done.append)

    assert (statistics.accepted, statistics.answered, done) == (1, 2, [1])
