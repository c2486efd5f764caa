"""The Python client's requests, retries and rate control, on a simulated clock."""

from __future__ import annotations

import asyncio
import heapq
import itertools
import json
import random
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.api.rates.sliding_window import Limit, SlidingWindow
from headrace_client import NotAccepted, Refused, Sender, SendSettings, Unavailable
from headrace_client.pace import LONGEST_RETRY_AFTER, Pace
from headrace_client.sending import with_click_id
from tests.worlds.senders import message

LATER = {"error": {"code": "rate_limited", "message": "later", "retryAfter": 3}}
NEVER = {"error": {"code": "invalid_event", "message": "never"}}
GOOD = {"lane": "main"}


class Script:
    """A scripted server: gives the listed answers, then accepts. Of a number of events the rest is limited. The text
    ``bad`` lets a whole request be refused, and ``limited`` is never accepted. The clock advances only in ``sleep``."""

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
        assert len(events) <= self.max_events
        assert len(json.dumps(events)) <= self.max_bytes
        self.posted.append(list(events))
        await asyncio.sleep(0)
        if any(event["message"] == "bad" for event in events):
            raise Refused("invalid_request", "a bad event")
        answer = self.answers.pop(0) if self.answers else GOOD
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, int):
            return [GOOD if place < answer else LATER for place in range(len(events))]
        if answer is GOOD:
            return [LATER if event["message"] == "limited" else GOOD for event in events]
        return list(answer) if isinstance(answer, list) else [answer] * len(events)

    async def sleep(self, seconds: float) -> None:
        self.now += seconds
        if seconds:
            self.slept.append(seconds)
        await asyncio.sleep(0)

    def sender(self, settings: SendSettings | None = None, uniform: Any = lambda _low, high: high) -> Sender:
        return Sender(self, settings or SendSettings(), clock=lambda: self.now, sleep=self.sleep, uniform=uniform)

    def texts(self) -> list[list[str]]:
        return [[event["message"] for event in events] for events in self.posted]


def one(text: str) -> list[dict[str, Any]]:
    return [{"roomId": "kitchen", "message": text}]


async def code(sender: Sender, text: str) -> str:
    """Sends an event; the code of its error."""
    (sent,) = await sender.send(one(text), raise_for_errors=False)
    return "" if sent.error is None else str(sent.error.get("code"))


async def test_tasks_that_send_one_event_after_the_other_share_every_request() -> None:
    script = Script()
    sender = script.sender()

    async def task(name: str) -> None:
        for number in range(3):
            await sender.send(one(f"{name}{number}"))

    await asyncio.gather(*(task(name) for name in "abcd"))

    assert script.texts() == [[f"{name}{number}" for name in "abcd"] for number in range(3)]


async def test_a_lonely_event_never_waits() -> None:
    script = Script()
    sender = script.sender()
    for _ in range(3):
        await sender.send(one("hello"))
        script.now += 0.1

    assert script.slept == []


@given(
    st.lists(st.lists(st.lists(st.integers(0, 1000), max_size=12), max_size=3), max_size=5),
    st.lists(st.integers(0, 10) | st.just(Unavailable("no answer")), max_size=8),
)
def test_each_caller_gets_its_own_results_in_order_and_a_bad_event_harms_no_other(
    callers: list[list[list[int]]], answers: list[Any]
) -> None:
    """An event is sent again unchanged, until it is accepted. The numbers are lengths of texts."""
    script = Script(*answers)
    sender = script.sender()

    async def call_after_call(name: int, calls: list[list[int]]) -> list[str]:
        sent = []
        for number, sizes in enumerate(calls):
            events = [one(f"{name}.{number}.{place} {'x' * size}")[0] for place, size in enumerate(sizes)]
            sent += (found := await sender.send(events))
            assert [each.event["message"] for each in found] == [event["message"] for event in events]
        return [json.dumps(each.event) for each in sent]

    async def run() -> list[list[str]]:
        bad = asyncio.create_task(code(sender, "bad"))
        found = await asyncio.gather(*(call_after_call(name, calls) for name, calls in enumerate(callers)))
        assert await bad == "invalid_request"
        return found

    found = asyncio.run(run())

    first = [each for each in dict.fromkeys(map(json.dumps, itertools.chain(*script.posted))) if '"bad"' not in each]
    assert sorted(first) == sorted(itertools.chain(*found))
    assert all([each for each in first if each in own] == own for own in found)


async def test_a_long_call_and_short_ones_take_turns() -> None:
    script = Script()
    sender = script.sender()
    await asyncio.gather(sender.send(30 * one("long")), sender.send(one("short")))

    assert ["short" in texts for texts in script.texts()] == [False, True, False, False]


async def test_an_event_that_cannot_be_sent_is_an_error_of_its_own_call() -> None:
    script = Script()
    sender = script.sender()
    good = asyncio.create_task(sender.send(one("good")))

    with pytest.raises(TypeError, match="not JSON serializable"):
        await sender.send([{"roomId": "kitchen", "message": object()}])

    assert await code(sender, "x" * 2000) == "too_large"
    assert (await good)[0].is_accepted
    assert script.texts() == [["good"]]


async def test_a_call_gives_up_in_its_own_time_while_others_are_accepted() -> None:
    script = Script()
    sender = script.sender(SendSettings(retry_timeout=60))
    limited = asyncio.create_task(code(sender, "limited"))
    while not limited.done():
        assert await code(sender, "hello") == ""

    assert limited.result() == "rate_limited"
    assert 55 < script.now < 65


@pytest.mark.parametrize("where", ["post", "sleep"])
async def test_closing_answers_all_who_wait_for_a_request_or_a_pause(where: str) -> None:
    waits = asyncio.Event()

    async def for_ever(_: Any) -> Any:
        waits.set()
        await asyncio.Event().wait()

    options: Any = {where: for_ever}
    async with Sender(Script(), **options) as sender:
        waiting = [asyncio.create_task(code(sender, "hello")) for _ in range(3)]
        await waits.wait()
        waiting.append(asyncio.create_task(code(sender, "one more")))

    assert await asyncio.gather(*waiting) == ["closed"] * 4


async def test_a_caller_that_is_cancelled_takes_only_its_own_events_along() -> None:
    script = Script()
    sender = script.sender()
    gone, stays = (asyncio.create_task(sender.send(one(name))) for name in ("gone", "stays"))
    await asyncio.sleep(0)
    gone.cancel()
    await stays

    assert script.texts() == [["stays"]]


async def test_a_pause_is_retry_after_plus_a_random_delay_that_doubles() -> None:
    script = Script(LATER, LATER, Unavailable("503", 7.0), Unavailable("no answer"))

    (sent,) = await script.sender(SendSettings(first_rate=1e9)).send([message()])

    assert sent.is_accepted
    assert [round(each, 3) for each in script.slept if each > 0.1] == [3.2, 3.4, 7.8, 1.6]


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
        wait = 0.0
        if took == events:
            pace.accepted(now)
        else:
            wait = pace.refused(int(window.wait(now)) + 1, is_first=took > 0)
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
            pause, said = pace.refused(retry_after), min(retry_after, LONGEST_RETRY_AFTER)
            assert said <= pause <= said + settings.longest_pause
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
