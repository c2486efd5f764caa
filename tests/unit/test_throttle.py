"""How senders are held to their rates, over several environments and with the cache away."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.core.errors import CacheUnavailable, RateLimited
from headrace.ingest.acceptor import Acceptor
from headrace.ingest.rate_limiter import EVERY_SECONDS, Throttle
from headrace.ingest.routes import HttpWrites, batch, single
from headrace.ingest.shared_counts import Known, MemoryRateSums, Told
from headrace.ingest.sliding_window import STEP_SECONDS, WINDOW_SECONDS
from headrace.runtime.observability import Meter
from headrace.runtime.settings import RateSettings
from headrace.streams import CHAT
from headrace.streams.chat.frames import Frames
from tests.worlds.senders import CLOCK, NOW, caller, message
from tests.worlds.write_path import QUEUES, Lanes, frame_event, http_event

SETTINGS = RateSettings(event_rate=10, trusted_event_rate=0, event_rate_off_percent=50)
MOST = 50
FEW = 25


class Environments:
    """Several environments, one time and one cache. Everything that passed is in ``passed``: (when, events)."""

    def __init__(self, count: int, settings: RateSettings = SETTINGS) -> None:
        self.now = 1000.0
        self.sums = MemoryRateSums(lambda: self.now)
        self.throttles = [Throttle(settings, self.sums, lambda: self.now) for _ in range(count)]
        self.now += EVERY_SECONDS
        self.passed: list[tuple[float, int]] = []
        self.meter = Meter()

    def send(self, events: int, environment: int = 0, user: str = "alice", *scopes: str) -> int:
        throttle = self.throttles[environment]
        passed, error = throttle.admit(caller(user, *scopes), events, self.meter)
        assert (error is None) == (passed == events)
        if throttle._under_way is not None:
            throttle._under_way.result(5)
        self.passed.append((self.now, passed))
        return passed

    def lately(self) -> int:
        return sum(events for at, events in self.passed if at > self.now - WINDOW_SECONDS)


def test_each_sender_has_a_limit_of_their_own_and_trusted_producers_another_or_none() -> None:
    environments = Environments(1)

    assert [environments.send(60, 0, user) for user in ("alice", "bob")] == [MOST, MOST]
    assert environments.send(100_000, 0, "importer", "events:write") == 100_000
    limited = Environments(1, RateSettings(event_rate=0, trusted_event_rate=10))
    assert limited.send(60, 0, "importer", "events:write") == 50
    assert limited.send(60, 0, "alice") == 60


def test_what_passed_in_one_environment_counts_in_another_a_second_later() -> None:
    environments = Environments(2)
    environments.send(40, 0)
    environments.send(1, 1)
    environments.now += EVERY_SECONDS
    environments.send(1, 1)

    assert environments.send(60, 1) == MOST - 42


def test_a_limit_that_went_on_in_one_environment_is_on_in_all_until_little_is_left() -> None:
    environments = Environments(3)
    environments.send(MOST + 1, 0)
    for environment in (1, 2):
        environments.send(1, environment)
    environments.now += EVERY_SECONDS

    assert [environments.send(1, each) for each in (0, 1, 2)] == [0, 0, 0]
    environments.now += WINDOW_SECONDS
    assert [environments.send(1, each) for each in (0, 1, 2)] == [1, 1, 1]


REQUESTS = st.lists(
    st.tuples(st.integers(0, 1500), st.integers(0, 2), st.integers(1, 80), st.booleans()), min_size=1, max_size=60
)


@given(REQUESTS)
def test_a_window_never_holds_more_than_the_limit_from_each_environment_with_the_cache_or_without(
    requests: list[tuple[int, int, int, bool]],
) -> None:
    environments = Environments(3)
    each: list[list[tuple[float, int]]] = [[], [], []]
    for pause, environment, events, down in requests:
        environments.now += pause / 1000
        environments.sums.down = down
        each[environment].append((environments.now, environments.send(events, environment)))

        for one in each:
            assert sum(events for at, events in one if at > environments.now - WINDOW_SECONDS) <= MOST


@given(st.lists(st.tuples(st.integers(1, 100), st.integers(1, 30)), min_size=1, max_size=60), st.integers(2, 6))
def test_a_busy_senders_window_holds_the_limit_and_what_came_within_two_seconds(
    requests: list[tuple[int, int]], count: int
) -> None:
    environments = Environments(count)
    for environment in range(count):
        environments.send(1, environment)
    offered = [(environments.now, count)]
    for number, (pause, events) in enumerate(requests):
        environments.now += pause / 1000
        environments.send(events, number % count)
        offered.append((environments.now, events))

        # What an environment does not know: what others let through since it last asked, and had not told by then.
        unknown = 2 * EVERY_SECONDS + 2 * 0.1 * count
        recent = sum(events for at, events in offered if at > environments.now - unknown)
        assert environments.lately() <= MOST + recent


def test_without_the_cache_each_environment_holds_the_limit_by_itself_and_recovers() -> None:
    environments = Environments(2)
    environments.sums.down = True

    assert [environments.send(60, each) for each in (0, 1)] == [MOST, MOST]
    environments.now += WINDOW_SECONDS + STEP_SECONDS
    assert [environments.send(10, each) for each in (0, 1)] == [10, 10]
    environments.sums.down = False
    environments.now += EVERY_SECONDS
    environments.send(1, 0)
    assert environments.sums.calls == 1


class Silent:
    """A cache that does not answer until ``gate`` is set."""

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.calls = 0

    def exchange(self, told: Sequence[Told]) -> list[Known]:
        self.calls += 1
        self.gate.wait(5)
        raise CacheUnavailable("away")


def test_a_cache_that_does_not_answer_holds_no_request_up() -> None:
    """P10; also an environment that was frozen while it told."""
    silent = Silent()
    now = [0.0]
    throttle = Throttle(SETTINGS, silent, lambda: now[0])

    for _ in range(30):
        now[0] += EVERY_SECONDS
        assert throttle.admit(caller(), 1, Meter()) == (1, None)

    assert silent.calls == 1, "one call is under way, and nobody waits for it"
    silent.gate.set()


def test_the_cache_is_asked_once_a_second_for_all_senders_together() -> None:
    environments = Environments(1)
    for number in range(300):
        environments.now += 0.01
        environments.send(1, 0, f"user-{number}")

    assert environments.sums.calls == 3


def test_a_new_environment_does_not_ask_the_cache_in_its_first_second() -> None:
    environments = Environments(1)
    environments.now -= EVERY_SECONDS / 2
    environments.send(1)
    early = environments.sums.calls
    environments.now += EVERY_SECONDS
    environments.send(1)

    assert (early, environments.sums.calls) == (0, 1)


@pytest.fixture
def lanes() -> Lanes:
    lanes = Lanes()
    now = [0.0]
    throttle = Throttle(SETTINGS, None, lambda: now[0])
    lanes.acceptor = Acceptor(lanes.broker, lanes.retry, QUEUES, CLOCK, throttle=throttle)
    lanes.frames, lanes.http = Frames(lanes.acceptor, CLOCK), HttpWrites(lanes.acceptor, "")
    return lanes


def test_a_batch_is_accepted_as_far_as_it_may_and_the_rest_has_what_a_retry_needs(lanes: Lanes) -> None:
    events = [message(messageId=f"m-{number}") for number in range(MOST + 2)]
    invalid = {"roomId": "kitchen", "messageId": "bad"}
    meter = Meter()

    results = lanes.acceptor.accept(CHAT, caller(), [invalid, *events], "c-1", meter)

    assert [result.lane for result in results] == [None, *["main"] * MOST, None, None]
    assert len(lanes.published()) == MOST
    body = results[-1].to_body()
    assert (body["messageId"], body["timestamp"], body["error"]["code"]) == (f"m-{MOST + 1}", NOW, "rate_limited")
    assert body["error"]["retryAfter"] >= 1
    assert meter.counts["Refused", (("code", "rate_limited"), ("stream", "chat"))] == 2
    assert meter.counts["SenderLimited", (("senders", "users"),)] == 1


def test_an_event_that_comes_twice_in_a_batch_counts_once(lanes: Lanes) -> None:
    results = lanes.acceptor.accept(CHAT, caller(), [message()] * (MOST * 2), "c-1", Meter())

    assert {result.lane for result in results} == {"main"}


def test_a_refused_request_is_a_429_with_retry_after_and_the_ids_to_send_again(lanes: Lanes) -> None:
    events = [message(messageId=f"m-{number}") for number in range(MOST)]
    assert lanes.http.answer(http_event({"events": events}), batch(CHAT))["statusCode"] == 202

    for answer in (
        lanes.http.answer(http_event({"events": [message(messageId="x"), {}]}), batch(CHAT)),
        lanes.http.answer(http_event(message(messageId="x"), room="kitchen"), single(CHAT, "roomId")),
    ):
        body = json.loads(answer["body"])
        assert answer["statusCode"] == 429
        assert answer["headers"]["retry-after"] == str(body["error"]["retryAfter"])
        assert body["error"]["code"] == "rate_limited"
        assert (body["results"][0]["messageId"], body["results"][0]["timestamp"]) == ("x", NOW)


def test_a_refused_frame_says_when_to_send_which_id_again(lanes: Lanes) -> None:
    events = [message(messageId=f"m-{number}") for number in range(MOST)]
    lanes.frames.answer(frame_event({"events": events}), Frames.send_batch)

    answer = json.loads(lanes.frames.answer(frame_event(message(messageId="x")), Frames.send_message)["body"])

    assert (answer["type"], answer["messageId"], answer["timestamp"]) == ("error", "x", NOW)
    assert answer["error"]["code"] == "rate_limited"
    assert answer["error"]["retryAfter"] >= 1


def test_a_sender_who_sends_too_much_costs_no_question_to_a_table() -> None:
    class Gate:
        asked = 0

        def admit(self, _caller: object, events: Sequence[object], _now: int) -> list[None]:
            self.asked += 1
            return [None] * len(events)

    gate, lanes = Gate(), Lanes()
    throttle = Throttle(SETTINGS, None, lambda: 0.0)
    acceptor = Acceptor(lanes.broker, lanes.retry, QUEUES, CLOCK, {"chat": gate}, throttle)  # type: ignore[dict-item]
    for number in range(MOST + 5):
        acceptor.accept(CHAT, caller(), [message(messageId=str(number))], "c-1", Meter())

    assert gate.asked == MOST


def test_the_refusal_says_what_is_allowed() -> None:
    throttle = Throttle(SETTINGS, None, lambda: 0.0)

    _, error = throttle.admit(caller(), MOST + 1, Meter())

    assert isinstance(error, RateLimited)
    assert "10 events/s, measured over 5 s" in error.message
    assert 1 <= error.retry_after <= WINDOW_SECONDS + 1
