"""Arrivals at a rate do not wait for answers."""

from __future__ import annotations

import pytest

from loadtest.checker.readback import await_none
from loadtest.sending.arrivals import GRACE, Arrivals
from loadtest.sending.draining import unreadable
from localstage.client.errors import HttpError
from tests.fakes.clock import Seconds


def test_a_stall_shows_in_the_times_of_the_requests_that_it_delays() -> None:
    clock = Seconds()
    arrivals = Arrivals(0, 1, rate=10, seconds=10, clock=clock)
    arrivals.take()

    clock.now += 2.0
    late = arrivals.take()

    assert late is not None
    assert late.due == pytest.approx(100.1)


def test_what_was_not_sent_soon_after_the_end_is_counted() -> None:
    clock = Seconds()
    arrivals = Arrivals(0, 1, rate=10, seconds=10, clock=clock)
    for _ in range(40):
        arrivals.take()

    clock.now += 10 + GRACE

    assert arrivals.take() is None
    assert arrivals.unsent == 60


def test_what_is_not_stored_yet_is_asked_for_again() -> None:
    clock, answers = Seconds(), [HttpError(404, "not_found", ""), False, True]

    def ask() -> bool:
        answer = answers.pop(0)
        if isinstance(answer, HttpError):
            raise answer
        return bool(answer)

    assert await_none(unreadable([ask]), 60.0, clock=clock, sleep=clock.sleep)
    assert not await_none(unreadable([lambda: False]), 5.0, clock=clock, sleep=clock.sleep)
