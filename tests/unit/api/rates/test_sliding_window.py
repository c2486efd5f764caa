"""The rate limit of one sender: which events are admitted, and when its window closes and opens."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from headrace.api.rates.rate_limiter import TYPING
from headrace.api.rates.sliding_window import SLOT_SECONDS, WINDOW_SECONDS, Counts, Limit, SlidingWindow

LIMITS = st.one_of(st.builds(Limit, st.integers(1, 50)), st.just(TYPING))
# Whole milliseconds, so that rounding errors of summed pauses are small.
PAUSES = st.one_of(st.integers(0, 400), st.integers(0, 12_000)).map(lambda millis: millis / 1000)
REQUESTS = st.lists(st.tuples(PAUSES, st.integers(1, 300)), max_size=60)
HOUR = 3600.0


class Sending:
    """One sender in one environment; ``admitted`` has (time, events) of all admissions."""

    def __init__(self, limit: Limit, start: float = 1000.0) -> None:
        self.limit = limit
        self.window = SlidingWindow(limit)
        self.now = start
        self.admitted: list[tuple[float, int]] = []

    def send(self, pause: float, events: int) -> int:
        self.now += pause
        admitted = self.window.admit(events, self.now)
        self.admitted.append((self.now, admitted))
        return admitted

    def lately(self, seconds: float = WINDOW_SECONDS) -> int:
        """The number of events admitted in the last ``seconds``."""
        return sum(events for at, events in self.admitted if at > self.now - seconds)


def slots_from(now: float, **events_by_age: int) -> dict[int, int]:
    """Counts by slot from ``s4=26``: 26 events in the slot 4 s before ``now``."""
    return {int((now - int(age[1:])) / SLOT_SECONDS): events for age, events in events_by_age.items()}


@given(LIMITS, REQUESTS)
def test_a_window_closes_when_it_is_full_and_opens_at_a_lower_count(
    limit: Limit, requests: list[tuple[float, int]]
) -> None:
    sending = Sending(limit)
    for pause, events in requests:
        was_closed = sending.window.wait(sending.now) > 0
        before = sending.lately(limit.seconds - pause) if pause < limit.seconds else 0
        admitted = sending.send(pause, events)

        if was_closed and admitted:
            assert before <= limit.resume_below, "it opened only when few enough were left"
        if not was_closed and admitted < events:
            assert sending.lately(limit.seconds + SLOT_SECONDS) >= limit.most, "it closed only when it was full"
        if admitted < events:
            assert sending.window.wait(sending.now) > 0


@given(LIMITS, REQUESTS, st.integers(1, 300))
def test_a_window_opens_at_the_time_that_its_refusal_states(
    limit: Limit, requests: list[tuple[float, int]], retries: int
) -> None:
    sending = Sending(limit)
    for pause, events in requests:
        sending.send(pause, events)
    sending.send(0, limit.most + 1)
    wait = sending.window.wait(sending.now)
    assert 0 < wait <= limit.seconds + SLOT_SECONDS

    for _ in range(retries):
        assert sending.send(wait * 0.99 / retries, 1) == 0
    assert sending.send(wait * 0.01 + 0.001, 1) == 1


@given(LIMITS, st.lists(st.tuples(st.integers(0, 3000), st.integers(1, 9)), max_size=60))
def test_a_sender_below_the_rate_is_never_refused(limit: Limit, requests: list[tuple[int, int]]) -> None:
    sending = Sending(limit)
    for pause, events in requests:
        fitting = min(events, limit.most - sending.lately(limit.seconds + SLOT_SECONDS - pause / 1000))
        sending.send(pause / 1000, max(0, fitting))

        assert sending.admitted[-1][1] == max(0, fitting)
        assert sending.window.wait(sending.now) == 0


def test_counts_are_reported_until_a_report_succeeds_and_only_once_after_that() -> None:
    window = SlidingWindow(Limit(10))
    window.admit(3, 100.0)
    assert sum(window.report(100.1).events.values()) == 3
    window.admit(2, 100.2)

    report = window.report(100.3)
    assert sum(report.events.values()) == 5
    window.admit(1, 100.3)
    window.learn(report, 100.3)

    assert list(window.report(100.3).events.values()) == [1]
    assert window.admit(100, 100.3) == 44


def test_a_window_that_opened_in_another_environment_is_open_here() -> None:
    window = SlidingWindow(Limit(10))
    window.learn(Counts(slots_from(100.0, s4=26, s0=20), resume_slot=400), 100.0)

    assert window.admit(1, 100.0) == 1


def test_slots_that_left_the_window_are_forgotten() -> None:
    window = SlidingWindow(Limit(1000))
    for number in range(2000):
        window.admit(1, number * 0.1)
        window.learn(window.report(number * 0.1), number * 0.1)

    held = (window._local, window._others, window._sent, window._reported)
    assert sum(map(len, held)) <= 4 * (WINDOW_SECONDS / SLOT_SECONDS + 1)


def test_local_events_count_after_the_cache_was_emptied() -> None:
    window = SlidingWindow(Limit(10))
    assert window.admit(50, 100.0) == 50
    window.report(100.5)
    window.learn(Counts({}, 0), 100.5)

    assert window.admit(1, 101.0) == 0
    assert window.wait(101.0) == 100.0 + SLOT_SECONDS + WINDOW_SECONDS - 101.0
    assert window.admit(1, 100.0 + SLOT_SECONDS + WINDOW_SECONDS) == 1


def test_a_clock_that_is_set_back_does_not_keep_a_window_closed() -> None:
    sending = Sending(Limit(10), start=2 * HOUR)
    assert sending.send(0, 60) == 50

    assert sending.send(-HOUR, 60) == 50
    assert sending.send(WINDOW_SECONDS + SLOT_SECONDS, 60) == 50
