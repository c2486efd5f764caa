"""The states of a breaker follow its promises, also while calls overlap."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.runtime.breaker import Breaker, BreakerRule, State

PROBE_SECONDS = 10.0
EXAMPLES = 200


@dataclass(frozen=True)
class Call:
    """A call that ends as ``end`` says. ``during`` it, later calls are made and time passes."""

    end: str
    during: list[Step]


Step = Call | float
"""A call, or seconds that pass."""

ends = st.sampled_from(["works", "works", "fails", "fails", "raises"])
pauses = st.sampled_from([0.5, 5.0, 9.5, 10.0, 30.0])
steps: st.SearchStrategy[list[Step]] = st.recursive(
    st.lists(st.builds(Call, ends, st.just([])) | pauses, max_size=15),
    lambda inner: st.lists(st.builds(Call, ends, inner) | pauses, max_size=15),
    max_leaves=8,
)


@dataclass
class Period:
    """What happened since the breaker changed to ``state``."""

    state: State
    since: float
    results: list[bool] = field(default_factory=list)
    """Whether each call failed that began and ended in this period."""


class Model:
    """Says of each call whether it is let through, and keeps all periods."""

    def __init__(self, percent: int, window: int) -> None:
        self.percent = percent
        self.window = window
        self.now = 1000.0
        self.periods = [Period("closed", self.now)]

    @property
    def state(self) -> State:
        return self.periods[-1].state

    def enter(self, state: State) -> None:
        self.periods.append(Period(state, self.now))

    def begin(self) -> Period | None:
        """The period that a call begins in; ``None`` if it is refused."""
        period = self.periods[-1]
        if period.state == "open" and self.now >= period.since + PROBE_SECONDS:
            self.enter("half_open")
        elif period.state != "closed":
            return None
        return self.periods[-1]

    def end(self, period: Period, failed: bool) -> None:
        if period is not self.periods[-1]:
            return
        period.results.append(failed)
        if period.state == "half_open":
            self.enter("open" if failed else "closed")
            return
        latest = period.results[-self.window :]
        enough = len(latest) >= min(self.window, max(2, self.window // 3))
        if enough and latest.count(True) / len(latest) > self.percent / 100:
            self.enter("open")


class Player:
    """Plays steps on a breaker and on its model, and compares them after each."""

    def __init__(self, percent: int, window: int) -> None:
        self.model = Model(percent, window)
        rule = BreakerRule(
            failure_percent=percent,
            window=window,
            probe_seconds=PROBE_SECONDS,
            monotonic=lambda: self.model.now,
        )
        self.breaker: Breaker[bool] = Breaker("b", rule, lambda worked: not worked)
        self.probing = False

    def play(self, steps: list[Step]) -> None:
        for step in steps:
            if isinstance(step, float):
                self.model.now += step
            else:
                self.call(step)
            assert self.breaker.state == self.model.state

    def call(self, step: Call) -> None:
        period = self.model.begin()
        called = False

        def attempt() -> bool:
            nonlocal called
            called = True
            assert self.breaker.state == self.model.state
            self.play(step.during)
            if period is not None:
                self.model.end(period, step.end != "works")
            if step.end == "raises":
                raise KeyError
            return step.end == "works"

        try:
            result = self.breaker.call(attempt)
        except KeyError:
            assert step.end == "raises"
        else:
            assert result is (None if period is None else step.end == "works")
        assert called is (period is not None)


@given(st.sampled_from([25, 50, 75]) | st.integers(1, 99), st.sampled_from([1, 2, 3, 4, 7, 10]), steps)
@settings(max_examples=EXAMPLES, derandomize=True, database=None, deadline=None)
def test_a_breaker_has_the_state_and_admits_the_calls_that_its_promises_say(
    percent: int, window: int, steps: list[Step]
) -> None:
    player = Player(percent, window)

    player.play(steps)

    for before, period in zip(player.model.periods, player.model.periods[1:], strict=False):
        assert before.state != "half_open" or len(before.results) == 1
        assert before.state != "open" or period.since - before.since >= PROBE_SECONDS
