"""The Python client's retries and rate control, on a simulated clock."""

from __future__ import annotations

import heapq
import random
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.api.rates.sliding_window import Limit, SlidingWindow
from headrace_client import NotAccepted, Sender, SendSettings, Unavailable
from headrace_client.pace import LONGEST_RETRY_AFTER, Pace
from headrace_client.sending import with_click_id
from tests.worlds.senders import message

LATER = {"error": {"code": "rate_limited", "message": "later", "retryAfter": 3}}
NEVER = {"error": {"code": "invalid_event", "message": "never"}}
GOOD = {"lane": "main"}


class Script:
    """A scripted server: gives the listed answers, then accepts. The clock advances only in ``sleep``."""

    max_events = 10
    max_bytes = 2000

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.posted: list[list[dict[str, Any]]] = []
        self.slept: list[float] = []
        self.now = 0.0

    async def open(self) -> None:
        pass

    async def close(self) -> None:
        pass

    async def post(self, events: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        self.posted.append(list(events))
        answer = self.answers.pop(0) if self.answers else GOOD
        if isinstance(answer, Exception):
            raise answer
        return list(answer) if isinstance(answer, list) else [answer] * len(events)

    async def sleep(self, seconds: float) -> None:
        self.now += seconds
        if seconds:
            self.slept.append(seconds)

    def sender(self, settings: SendSettings | None = None, uniform: Any = lambda _low, high: high) -> Sender:
        return Sender(self, settings or SendSettings(), clock=lambda: self.now, sleep=self.sleep, uniform=uniform)


async def test_only_refused_events_are_sent_again_unchanged() -> None:
    script = Script([GOOD, LATER, NEVER, LATER, GOOD])
    events = [{"roomId": "kitchen", "message": str(number)} for number in range(5)]

    sent = await script.sender().send(events, raise_for_errors=False)

    first, second = script.posted
    assert second == [first[1], first[3]]
    assert all(each["messageId"] and each["timestamp"] for each in first)
    assert len({each["messageId"] for each in first}) == 5
    assert [each.event for each in sent] == first
    assert [each.is_accepted for each in sent] == [True, True, False, True, True]
    assert sent[2].error == NEVER["error"]


async def test_a_pause_is_retry_after_plus_a_random_delay_that_doubles() -> None:
    script = Script(LATER, LATER, Unavailable("503", 7.0), Unavailable("no answer"))

    (sent,) = await script.sender(SendSettings(first_rate=1e9)).send([message()])

    assert sent.is_accepted
    assert [round(each, 3) for each in script.slept if each > 0.1] == [3.2, 3.4, 7.8, 1.6]


async def test_a_sender_waits_for_a_slow_stage_however_often_it_is_refused() -> None:
    script = Script(*[LATER] * 500)

    (sent,) = await script.sender(SendSettings(retry_timeout=86_400)).send([message()])

    assert sent.is_accepted
    assert len(script.posted) == 501
    assert min(script.slept) >= 3.0


@pytest.mark.parametrize("refusal", [LATER, Unavailable("503"), Unavailable("429", 3.0)])
async def test_a_sender_gives_up_in_its_time_with_the_reason(refusal: Any) -> None:
    script = Script(*[refusal] * 500)

    with pytest.raises(NotAccepted, match="2 of 2 events were not accepted in time; the first: ") as raised:
        await script.sender(SendSettings(retry_timeout=60)).send([message(), message(messageId="m-2")])

    assert 60 - SendSettings().longest_pause - 3 < script.now < 60
    assert len({str(each.error) for each in raised.value.sent}) == 1


async def test_an_accepted_event_begins_the_time_anew() -> None:
    script = Script(*[[GOOD] + [LATER] * left for left in range(8, -1, -1)])

    sent = await script.sender(SendSettings(retry_timeout=5)).send([message(messageId=str(each)) for each in range(9)])

    assert all(each.is_accepted for each in sent)
    assert script.now > 5


async def test_each_call_has_the_whole_time() -> None:
    script = Script(*[LATER] * 3)
    sender = script.sender(SendSettings(retry_timeout=5))
    await sender.send([message()], raise_for_errors=False)
    script.now += 60

    (sent,) = await sender.send([message()])

    assert sent.is_accepted


async def test_a_sender_that_is_stopped_waits_no_longer() -> None:
    script = Script(*[LATER] * 50)
    stopped = iter([False, True])
    sender = Sender(script, clock=lambda: script.now, sleep=script.sleep, stopped=lambda: next(stopped))

    (sent,) = await sender.send([message()], raise_for_errors=False)

    assert sent.error == LATER["error"]
    assert len(script.posted) == 2


@pytest.mark.parametrize("wrong", [0, -1.5, float("nan"), "60", None])
def test_a_time_that_is_not_above_zero_is_refused(wrong: Any) -> None:
    with pytest.raises(ValueError, match=f"retry_timeout: {wrong!r} is not a number of seconds above 0"):
        SendSettings(retry_timeout=wrong)


async def test_a_request_stays_within_the_limits_of_its_protocol() -> None:
    script = Script()
    events = [message(messageId=str(number), message="x" * (number * 40)) for number in range(40)]

    sent = await script.sender().send(events)

    assert [each.event for each in sent] == events
    assert [event for posted in script.posted for event in posted] == events
    assert all(len(posted) <= 10 for posted in script.posted)
    assert max(len(posted) for posted in script.posted[-5:]) == 1


class Limited(Script):
    """Accepts as many events as a platform with this limit."""

    max_events = 500
    max_bytes = 10**9

    def __init__(self, limit: Limit) -> None:
        super().__init__()
        self.window = SlidingWindow(limit)
        self.passed: list[tuple[float, int]] = []
        self.refused: list[tuple[float, int]] = []

    async def post(self, events: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        self.now += 0.01
        passed = self.window.admit(len(events), self.now)
        self.passed.append((self.now, passed))
        self.refused.append((self.now, len(events) - passed))
        later = {"error": {"code": "rate_limited", "retryAfter": int(self.window.wait(self.now)) + 1}}
        return [GOOD] * passed + [later] * (len(events) - passed)


@pytest.mark.parametrize("rate", [20, 100])
async def test_a_sender_settles_at_a_steady_rate_below_the_limit(rate: int) -> None:
    limited = Limited(Limit(rate))
    dice = random.Random(1)
    count = rate * 200

    sent = await limited.sender(uniform=dice.uniform).send([message(messageId=str(number)) for number in range(count)])

    assert all(each.is_accepted for each in sent)
    late = limited.now / 4
    passed = sum(events for at, events in limited.passed if at > late)
    refused = sum(events for at, events in limited.refused if at > late)
    assert rate / 2 < passed / (limited.now - late) <= rate
    assert refused < passed * 0.25


def test_senders_that_share_a_limit_each_get_a_share() -> None:
    window, dice = SlidingWindow(Limit(100)), random.Random(2)
    paces = [Pace(SendSettings(first_rate=1000.0 / (number + 1)), dice.uniform) for number in range(4)]
    passed = [0] * 4
    due = [(0.0, number) for number in range(4)]
    while due[0][0] < 600:
        now, number = heapq.heappop(due)
        pace = paces[number]
        events = pace.batch_size()
        pace.sent(events, now)
        took = window.admit(events, now)
        if now > 60:
            passed[number] += took
        wait: float | None = 0.0
        if took == events:
            pace.accepted(now)
        else:
            wait = pace.refused(now, int(window.wait(now)) + 1, is_first=took > 0)
        assert wait is not None
        heapq.heappush(due, (max(now + wait, now + pace.delay(now)), number))

    assert sum(passed) > 540 * 100 / 2
    assert min(passed) > sum(passed) / 4 / 3


@given(st.lists(st.tuples(st.booleans(), st.floats(0, 30), st.floats(0, 1e6)), max_size=60))
def test_rates_and_pauses_stay_within_their_bounds(
    steps: list[tuple[bool, float, float]],
) -> None:
    settings = SendSettings()
    pace, now = Pace(settings, random.uniform), 0.0
    for is_refused, seconds, retry_after in steps:
        now += seconds
        pace.sent(pace.batch_size(), now)
        before = pace.rate
        if is_refused:
            pause, said = pace.refused(now, retry_after), min(retry_after, LONGEST_RETRY_AFTER)
            assert pause is None or said <= pause <= min(said + settings.longest_pause, settings.retry_timeout)
            assert pace.rate == max(settings.lowest_rate, before / 2)
        else:
            pace.accepted(now)
            assert before <= pace.rate <= before + settings.increase
        assert settings.lowest_rate <= pace.rate <= settings.highest_rate
        assert pace.batch_size() >= 1


@pytest.mark.parametrize("named", [{"messageId": "m"}, {"clickId": "c"}, {"timestamp": 1}, {"clickedAt": "t"}])
def test_a_click_with_an_id_or_a_time_under_either_name_is_sent_as_it_is(named: dict[str, Any]) -> None:
    click = {"adId": "a", "adType": "banner"}

    assert with_click_id({**click, **named}) == {**click, **named}
    made = with_click_id({**click, **dict.fromkeys(named)})
    assert made.keys() == {*click, "clickId", "timestamp"}
    assert all(made.values())
