"""Senders are limited to their rates, over several environments and without the cache."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.api.rates.rate_limiter import EXCHANGE_SECONDS, RateLimiter, SharedCounts
from headrace.api.rates.sliding_window import SHARES, SLOT_SECONDS, WINDOW_SECONDS
from headrace.core.errors import CacheUnavailable
from headrace.runtime.observability import Meter
from headrace.runtime.settings import RateSettings
from tests.fakes.commands import MemoryCommands
from tests.worlds.requests import http_event
from tests.worlds.senders import CHAT, caller, message
from tests.worlds.write_path import BATCH_POST, WritePath, frame_event

SETTINGS = RateSettings(event_rate=10, trusted_event_rate=0)
MOST = 50


class Environments:
    """Several environments with one clock and one cache. ``admitted`` has (time, events) of all admissions."""

    def __init__(self, count: int, settings: RateSettings = SETTINGS) -> None:
        self.now = 1000.0
        self.cache = MemoryCommands()
        self.limiters = [RateLimiter(settings, SharedCounts(self.cache), lambda: self.now) for _ in range(count)]
        self.now += EXCHANGE_SECONDS
        self.admitted: list[tuple[float, int]] = []
        self.meter = Meter()

    def send(self, events: int, environment: int = 0, user: str = "alice", *scopes: str) -> int:
        limiter = self.limiters[environment]
        admitted, error = limiter.admit(caller(user, *scopes), events, self.meter)
        assert (error is None) == (admitted == events)
        if limiter._background._running is not None:
            limiter._background._running.result(5)
        self.admitted.append((self.now, admitted))
        return admitted

    def lately(self) -> int:
        return sum(events for at, events in self.admitted if at > self.now - WINDOW_SECONDS)


def test_each_sender_has_a_limit_and_trusted_producers_another_or_none() -> None:
    environments = Environments(1)

    assert [environments.send(60, 0, user) for user in ("alice", "bob")] == [MOST, MOST]
    assert environments.send(100_000, 0, "importer", "events:write") == 100_000
    limited = Environments(1, RateSettings(event_rate=0, trusted_event_rate=10))
    assert limited.send(60, 0, "importer", "events:write") == 50
    assert limited.send(60, 0, "alice") == 60


def test_admitted_events_count_in_other_environments_after_a_second() -> None:
    environments = Environments(2)
    environments.send(40, 0)
    environments.send(1, 1)
    environments.now += EXCHANGE_SECONDS
    environments.send(1, 1)

    assert environments.send(60, 1) == MOST - 42


def test_a_window_that_closed_in_one_environment_is_closed_in_all() -> None:
    environments = Environments(3)
    environments.send(MOST + 1, 0)
    for environment in (1, 2):
        environments.send(1, environment)
    environments.now += EXCHANGE_SECONDS

    assert [environments.send(1, each) for each in (0, 1, 2)] == [0, 0, 0]
    environments.now += WINDOW_SECONDS
    assert [environments.send(1, each) for each in (0, 1, 2)] == [1, 1, 1]


def test_a_remotely_closed_window_stays_closed_above_half_of_the_limit() -> None:
    environments = Environments(2)
    environments.send(20, 0)
    environments.now += 3
    environments.send(31, 0)
    environments.now += WINDOW_SECONDS - 3 + SLOT_SECONDS
    environments.send(1, 0)
    environments.now += EXCHANGE_SECONDS

    # 30 of 50 are left: less than the limit, more than half of it.
    assert environments.send(1, 1) == 1, "not known here before the first exchange"
    assert environments.send(1, 1) == 0


@pytest.mark.parametrize("count", [1, 4, 16])
@pytest.mark.parametrize("size", [1, 25, 500])
def test_sixteen_environments_that_start_at_once_admit_at_most_half_of_the_limit_more(count: int, size: int) -> None:
    """Batches to all environments, then to one after the other: in no window, but nearly the limit in each."""
    environments = Environments(count, RateSettings(event_rate=100))
    most = 500
    fullest = [0] * 4
    for number in range(2000):
        now = int(number / 100)
        environments.now += 0.01
        for environment in range(count) if number % 200 == 0 else [number % count]:
            environments.send(size, environment)
        fullest[now // 5] = max(fullest[now // 5], environments.lately())

    assert max(fullest) <= 1.5 * most
    assert min(fullest) >= 0.75 * most


REQUESTS = st.lists(
    st.tuples(st.integers(0, 1500), st.integers(0, 2), st.integers(1, 80), st.booleans()), min_size=1, max_size=60
)


@given(REQUESTS)
def test_no_environment_admits_more_than_the_limit_with_the_cache_or_without(
    requests: list[tuple[int, int, int, bool]],
) -> None:
    environments = Environments(3)
    each: list[list[tuple[float, int]]] = [[], [], []]
    for pause, environment, events, down in requests:
        environments.now += pause / 1000
        environments.cache.down = down
        each[environment].append((environments.now, environments.send(events, environment)))

        for one in each:
            assert sum(events for at, events in one if at > environments.now - WINDOW_SECONDS) <= MOST


@given(REQUESTS, st.integers(2, 16))
def test_all_environments_together_exceed_the_limit_by_a_share_each_at_most(
    requests: list[tuple[int, int, int, bool]], count: int
) -> None:
    environments = Environments(count)
    for number, (pause, environment, events, in_turn) in enumerate(requests):
        environments.now += pause / 1000 / count
        environments.send(events, (number if in_turn else environment) % count)

        assert environments.lately() <= MOST + count * (MOST // SHARES)


def test_without_the_cache_each_environment_limits_alone_and_recovers() -> None:
    environments = Environments(2)
    environments.cache.down = True

    assert [environments.send(60, each) for each in (0, 1)] == [MOST, MOST]
    environments.now += WINDOW_SECONDS + SLOT_SECONDS
    assert [environments.send(10, each) for each in (0, 1)] == [10, 10]
    environments.cache.down = False
    environments.now += EXCHANGE_SECONDS
    environments.send(1, 0)
    assert environments.cache.calls == 1


class Silent:
    """A cache that does not answer until ``gate`` is set."""

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.calls = 0

    def run(self, _commands: Sequence[tuple[Any, ...]]) -> list[Any]:
        self.calls += 1
        self.gate.wait(5)
        raise CacheUnavailable("no answer")


def test_a_cache_that_does_not_answer_delays_one_request_for_a_moment() -> None:
    """P10; also an environment that was frozen during an exchange."""
    silent = Silent()
    now = [0.0]
    limiter = RateLimiter(RateSettings(event_rate=1000), SharedCounts(silent), lambda: now[0])

    for _ in range(30):
        now[0] += EXCHANGE_SECONDS
        assert limiter.admit(caller(), 100, Meter()) == (100, None)
    assert limiter.admit(caller(), 4000, Meter()) == (4000, None)

    assert silent.calls == 1, "one call is in progress, and one request has waited for it"
    silent.gate.set()


def test_counts_that_are_no_numbers_are_like_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    environments = Environments(1)
    answers = {"HGETALL": {b"x": b"y"}}
    monkeypatch.setattr(environments.cache, "run", lambda commands: [answers.get(each[0], 1) for each in commands])

    assert environments.send(60) == MOST


def test_counts_are_exchanged_once_a_second_for_all_senders_together() -> None:
    environments = Environments(1)
    for number in range(300):
        environments.now += 0.01
        environments.send(1, 0, f"user-{number}")

    assert environments.cache.calls == 3


def test_a_share_of_the_limit_needs_no_exchange_so_a_new_environment_uses_no_cache_in_its_first_second() -> None:
    environments = Environments(1, RateSettings(event_rate=1000))
    environments.now -= EXCHANGE_SECONDS / 2
    environments.send(1000 * 5 // SHARES - 1)
    early = environments.cache.calls
    environments.now += EXCHANGE_SECONDS
    environments.send(1)

    assert (early, environments.cache.calls) == (0, 1)


def test_each_time_a_window_closes_is_counted_once() -> None:
    environments = Environments(1)
    for pause in (0.0, 0.1, WINDOW_SECONDS + SLOT_SECONDS, 0.1):
        environments.now += pause
        environments.send(MOST + 1)

    assert environments.meter.line(limit="events", senders="users").metrics["SenderLimited"] == [2]


@pytest.fixture
def write_path() -> WritePath:
    return WritePath(RateLimiter(SETTINGS, None, lambda: 1000.0))


def test_a_batch_is_accepted_up_to_the_limit_and_the_rest_is_refused(write_path: WritePath) -> None:
    events = [message(messageId=f"m-{number}") for number in range(MOST + 2)]
    meter = Meter()

    results = write_path.acceptor.accept(CHAT, caller(), events, "c-1", meter)

    # The router counts the first one.
    assert [result.lane for result in results] == [*["main"] * (MOST + 1), None]
    assert len(write_path.published()) == MOST + 1
    body = results[-1].to_body()
    assert (body["messageId"], body["error"]["code"]) == (f"m-{MOST + 1}", "rate_limited")
    assert body["error"]["retryAfter"] >= 1
    assert meter.line(code="rate_limited", stream="chat").metrics["Refused"] == [1]
    assert meter.line(limit="events", senders="users").metrics["SenderLimited"] == [1]


@pytest.mark.parametrize("event", [{}, 7, {"roomId": "kitchen", "messageId": "bad"}, message()])
def test_a_batch_counts_its_events_also_those_that_are_wrong_or_come_twice(write_path: WritePath, event: Any) -> None:
    write_path.post(http_event(BATCH_POST, {"events": [event] * (MOST - 1)}))

    answer = write_path.post(http_event(BATCH_POST, {"events": [message(messageId="a"), message(messageId="b")]}))

    results = json.loads(answer["body"])["results"]
    assert [(each.get("lane"), each.get("error", {}).get("code")) for each in results] == [
        ("main", None),
        (None, "rate_limited"),
    ]


@pytest.mark.parametrize(
    ("body", "scope", "status"),
    [("{no json", "chat:write", 400), ({"events": 7}, "chat:write", 400), ({"events": [message()]}, "chat:read", 403)],
)
def test_a_batch_that_is_refused_as_a_whole_counts_as_one_event(
    write_path: WritePath, body: object, scope: str, status: int
) -> None:
    statuses = [write_path.post(http_event(BATCH_POST, body, scope=scope))["statusCode"] for _ in range(MOST + 1)]

    assert statuses == [status] * MOST + [429]


def test_no_event_of_a_sender_over_the_limit_is_read(write_path: WritePath) -> None:
    write_path.post(http_event(BATCH_POST, {"events": [message()] * (MOST + 1)}))

    answer = write_path.post(http_event(BATCH_POST, "{no json"))
    frame = write_path.frame("sendMessage", frame_event({"action": "sendMessage", "requestId": "q-1"}))

    assert answer["statusCode"] == 429
    assert json.loads(answer["body"]).keys() == {"error", "message"}
    refused = json.loads(frame["body"])
    assert (refused["requestId"], refused["error"]["code"]) == ("q-1", "rate_limited")


def test_refused_events_cause_no_reads_of_a_table() -> None:
    class Gate:
        asked = 0

        def admit(self, _caller: object, events: Sequence[object], _now: int) -> list[None]:
            self.asked += 1
            return [None] * len(events)

    gate, write_path = Gate(), WritePath(RateLimiter(SETTINGS, None, lambda: 1000.0))
    write_path.acceptor = replace(write_path.acceptor, gates=lambda _kind: (gate,))
    for number in range(MOST + 5):
        write_path.post(http_event(BATCH_POST, {"events": [message(messageId=str(number))]}))

    assert gate.asked == MOST


def test_every_answer_to_a_limited_sender_says_what_is_left(write_path: WritePath) -> None:
    """draft-ietf-httpapi-ratelimit-headers: a client can slow down before the 429."""
    events = {"events": [message(messageId=str(number)) for number in range(30)]}

    first, second, third = (write_path.post(http_event(BATCH_POST, events)) for _ in range(3))

    assert [each["statusCode"] for each in (first, second, third)] == [202, 202, 429]
    assert {each["headers"]["ratelimit-policy"] for each in (first, second, third)} == {'"events";q=50;w=5'}
    assert first["headers"]["ratelimit"] == '"events";r=20;t=5'
    assert second["headers"]["ratelimit"] == third["headers"]["ratelimit"]
    assert third["headers"]["ratelimit"] == f'"events";r=0;t={third["headers"]["retry-after"]}'


def test_a_sender_without_a_limit_gets_no_limit_in_headers() -> None:
    write_path = WritePath(RateLimiter(SETTINGS, None))

    answer = write_path.post(http_event(BATCH_POST, {"events": [message()]}, scope="events:write"))

    assert answer["statusCode"] == 202
    assert not {"ratelimit", "ratelimit-policy"} & answer["headers"].keys()
