"""The rate limit of one sender: what passes, when it goes on and off."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from headrace.ingest.sliding_window import STEP_SECONDS, WINDOW_SECONDS, Gauge, Limit

LIMITS = st.builds(Limit, st.integers(1, 50), st.integers(1, 95))
# Whole milliseconds, so that sums of pauses are about what they say.
PAUSES = st.one_of(st.integers(0, 400), st.integers(0, 12_000)).map(lambda millis: millis / 1000)
REQUESTS = st.lists(st.tuples(PAUSES, st.integers(1, 300)), max_size=60)


class Sending:
    """One sender in one environment, and everything that was let through: (when, events)."""

    def __init__(self, limit: Limit, start: float = 1000.0) -> None:
        self.limit = limit
        self.gauge = Gauge(limit)
        self.now = start
        self.passed: list[tuple[float, int]] = []

    def send(self, pause: float, events: int) -> int:
        self.now += pause
        passed = self.gauge.take(events, self.now)
        self.passed.append((self.now, passed))
        return passed

    def lately(self, seconds: float = WINDOW_SECONDS) -> int:
        """What passed in the last ``seconds``, counted one by one."""
        return sum(events for at, events in self.passed if at > self.now - seconds)


@given(LIMITS, REQUESTS)
def test_no_window_holds_more_than_the_limit_however_it_is_sent(
    limit: Limit, requests: list[tuple[float, int]]
) -> None:
    sending = Sending(limit)
    for pause, events in requests:
        sending.send(pause, events)

        assert sending.lately() <= limit.most


@given(LIMITS, REQUESTS)
def test_a_limit_goes_on_at_one_rate_and_off_at_a_lower_one(limit: Limit, requests: list[tuple[float, int]]) -> None:
    sending = Sending(limit)
    for pause, events in requests:
        was_on = sending.gauge.is_on
        before = sending.lately(WINDOW_SECONDS - pause) if pause < WINDOW_SECONDS else 0
        passed = sending.send(pause, events)

        if was_on and passed:
            assert before <= limit.few, "it went off only when little enough was left"
        if not was_on and passed < events:
            assert sending.lately(WINDOW_SECONDS + STEP_SECONDS) >= limit.most, "it went on only when it was full"
        if passed < events:
            assert sending.gauge.is_on


@given(LIMITS, REQUESTS, st.integers(1, 300))
def test_it_recovers_when_it_says_whether_one_waits_or_goes_on_knocking(
    limit: Limit, requests: list[tuple[float, int]], knocks: int
) -> None:
    sending = Sending(limit)
    for pause, events in requests:
        sending.send(pause, events)
    sending.send(0, limit.most + 1)
    wait = sending.gauge.wait(sending.now)
    assert 0 < wait <= WINDOW_SECONDS + STEP_SECONDS

    for _ in range(knocks):
        assert sending.send(wait * 0.99 / knocks, 1) == 0
    assert sending.send(wait * 0.01 + 0.001, 1) == 1


@given(LIMITS, st.lists(st.tuples(st.integers(0, 3000), st.integers(1, 9)), max_size=60))
def test_who_stays_below_the_rate_is_never_refused(limit: Limit, requests: list[tuple[int, int]]) -> None:
    sending = Sending(limit)
    for pause, events in requests:
        fitting = min(events, limit.most - sending.lately(WINDOW_SECONDS + STEP_SECONDS - pause / 1000))
        sending.send(pause / 1000, max(0, fitting))

        assert sending.passed[-1][1] == max(0, fitting)
        assert not sending.gauge.is_on


def test_a_batch_counts_as_its_events_and_passes_as_far_as_they_fit() -> None:
    sending = Sending(Limit(10, 50))

    assert sending.send(0, 30) == 30
    assert sending.send(0, 30) == 20
    assert sending.send(0, 1) == 0
    assert sending.send(WINDOW_SECONDS + STEP_SECONDS, 60) == 50


def test_what_was_told_but_not_learned_is_told_again_and_nothing_is_told_twice_after_that() -> None:
    gauge = Gauge(Limit(10, 50))
    gauge.take(3, 100.0)
    assert [events for _, events in gauge.tell(100.1)] == [3]
    gauge.take(2, 100.2)

    told = gauge.tell(100.3)
    assert sum(events for _, events in told) == 5
    gauge.take(1, 100.3)
    gauge.learn(told, 100.3, is_on=False)

    assert [events for _, events in gauge.tell(100.3)] == [1]
    assert gauge.take(100, 100.3) == 44


def test_a_limit_that_is_on_elsewhere_is_on_here_until_little_is_left() -> None:
    gauge = Gauge(Limit(10, 50))
    gauge.learn([(4.0, 26), (0.0, 20)], 100.0, is_on=True)

    assert gauge.take(1, 100.0) == 0
    assert gauge.wait(100.0) == 1.0
    assert gauge.take(30, 101.0) == 30


def test_nothing_is_remembered_of_what_has_left_the_window() -> None:
    gauge = Gauge(Limit(1000, 50))
    for number in range(2000):
        gauge.take(1, number * 0.1)

    held = (gauge._known, gauge._own, gauge._untold, gauge._sent)
    assert sum(map(len, held)) < 4 * (WINDOW_SECONDS / STEP_SECONDS + 2)


def test_what_was_let_through_here_counts_though_the_cache_was_emptied_meanwhile() -> None:
    gauge = Gauge(Limit(10, 50))
    assert gauge.take(50, 100.0) == 50
    gauge.tell(100.5)
    gauge.learn([], 100.5, is_on=False)

    assert gauge.take(1, 101.0) == 0
    assert gauge.wait(101.0) == 100.0 + STEP_SECONDS + WINDOW_SECONDS - 101.0
    assert gauge.take(1, 100.0 + STEP_SECONDS + WINDOW_SECONDS) == 1
