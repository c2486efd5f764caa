"""Arrivals at a rate do not wait for answers."""

from __future__ import annotations

import pytest

from loadtest.sending.arrivals import GRACE, Arrivals
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
