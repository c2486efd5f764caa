"""Signals: who may send them, how large they may be, and what they leave behind, which is nothing."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest

from headrace.api.error_bodies import mapping_of
from headrace.api.rates.rate_limiter import RateLimiter, SharedCounts
from headrace.delivery.acceptor import Acceptor
from headrace.live.signals import parse
from headrace.queues.names import SIGNAL_QUEUE
from headrace.runtime.observability import Meter
from headrace.runtime.settings import RateSettings
from tests.fakes.commands import MemoryCommands
from tests.worlds.room_world import TRUSTED, caller
from tests.worlds.senders import CHAT, CLOCK, NOW
from tests.worlds.whole_room_world import WholeRoomWorld
from tests.worlds.write_path import QUEUES, WritePath, frame_event


@pytest.fixture
def world() -> WholeRoomWorld:
    found = WholeRoomWorld()
    found.add_rooms()
    found.write_path.gate = found.gate
    return found


def send(write_path: WritePath, user: str = "alice", scope: str = "chat:write", **frame: Any) -> dict[str, Any]:
    body = {"action": "sendSignal", "requestId": "7", "roomId": "kitchen", "name": "typing", **frame}
    answer = write_path.frame("sendSignal", frame_event(body, subject=user, scope=scope))
    return dict(json.loads(answer["body"]))


def code(answer: dict[str, Any]) -> str:
    return str(answer["error"]["code"] if "error" in answer else answer["type"])


def test_a_signal_goes_to_its_own_live_queue_and_is_accepted_by_no_lane(world: WholeRoomWorld) -> None:
    write_path = world.write_path
    stored = len(write_path.broker.bodies())

    answer = send(write_path, data="…")

    assert answer == {"type": "signalSent", "requestId": "7", "roomId": "kitchen", "correlationId": "r-1"}
    (copy,) = write_path.live.sent
    signal = parse(copy.body)
    assert (copy.routing_key, copy.correlation_id, signal.connection_id) == (SIGNAL_QUEUE, "r-1", "c-1")
    assert json.loads(signal.frame) == {
        "type": "signal",
        "roomId": "kitchen",
        "userId": "alice",
        "username": "Alice",
        "name": "typing",
        "data": "…",
        "timestamp": NOW,
    }
    assert (len(write_path.broker.bodies()), write_path.retry.records) == (stored, [])


def test_a_signal_is_refused_to_whom_a_message_is_refused(world: WholeRoomWorld) -> None:
    """Members of a room, the two users of a direct room until one blocks the other, and all users of an open room."""
    direct = world.ok("alice", "PUT", "alice/direct/bob")["roomId"]
    acceptor = Acceptor(world.write_path.broker, world.write_path.retry, QUEUES, world.clock, world.gates)

    def fates() -> dict[tuple[str, str], str]:
        found = {}
        for user in ("alice", "bob", "carol"):
            for room in ("kitchen", "hall", direct):
                (result,) = acceptor.accept(CHAT, caller(user), [{"roomId": room, "message": "x"}], "c-1", Meter())
                found[user, room] = code(send(world.write_path, user, roomId=room))
                assert found[user, room] == (mapping_of(result.error).code if result.error else "signalSent"), (
                    user,
                    room,
                )
        return found

    before = fates()
    assert {pair for pair, fate in before.items() if fate == "forbidden"} == {("carol", "kitchen"), ("carol", direct)}
    world.clock.advance(1)
    world.ok("alice", "DELETE", "kitchen/members/bob")
    world.ok("bob", "PUT", "bob/blocked/alice")
    after = fates()
    assert {pair for pair, fate in after.items() if fate != before[pair]} == {("bob", "kitchen"), ("bob", direct)}


@pytest.mark.parametrize("scope", ["chat:write", TRUSTED])
def test_a_signal_creates_no_room(world: WholeRoomWorld, scope: str) -> None:
    assert code(send(world.write_path, scope=scope, roomId="nowhere")) == "not_found"

    assert world.rooms.get("nowhere") is None


def test_a_right_that_cannot_be_checked_refuses_the_signal(world: WholeRoomWorld) -> None:
    """A message is checked before it is stored, but nothing checks a signal later."""
    world.rooms.down = world.memberships.down = True

    assert code(send(world.write_path)) == "unavailable"
    assert world.write_path.live.sent == []


def test_an_unavailable_broker_is_an_error_and_nothing_is_kept(world: WholeRoomWorld) -> None:
    world.write_path.live.down = True

    assert code(send(world.write_path)) == "unavailable"
    assert world.write_path.retry.records == []


@pytest.mark.parametrize(
    ("frame", "field"),
    [
        ({"data": "\U0001f600" * 257}, "data"),
        ({"message": "hello"}, "message"),
        ({"userId": "bob"}, "userId"),
    ],
)
def test_a_signal_of_another_form_is_refused_by_field(world: WholeRoomWorld, frame: dict[str, Any], field: str) -> None:
    answer = send(world.write_path, **frame)

    assert (code(answer), answer["error"]["details"][0]["field"]) == ("invalid_request", field)
    assert world.write_path.live.sent == []


def test_a_signal_may_have_1024_bytes(world: WholeRoomWorld) -> None:
    assert code(send(world.write_path, data="\U0001f600" * 256)) == "signalSent"


def test_signals_and_messages_use_up_different_rates(world: WholeRoomWorld) -> None:
    """At 10% of the rate of requests: 2 signals/s are 10 in 5 s."""
    rates = RateSettings(event_rate=2, request_rate=20)
    write_path = WritePath(RateLimiter(rates, None, lambda: CLOCK.now() / 1e6))
    write_path.gate = world.gate

    assert [code(send(write_path, name="cursor")) for _ in range(11)] == ["signalSent"] * 10 + ["rate_limited"]
    body = {"roomId": "kitchen", "message": "hello"}
    answers = [json.loads(write_path.frame("sendMessage", frame_event(body))["body"]) for _ in range(11)]
    assert [code(each) for each in answers] == ["ack"] * 10 + ["rate_limited"]


class Typing:
    """Two environments that accept frames, with one cache."""

    def __init__(self, world: WholeRoomWorld) -> None:
        self.now = 1000.0
        self.cache = MemoryCommands()
        self.paths = []
        for _ in range(2):
            limiter = RateLimiter(RateSettings(), SharedCounts(self.cache), lambda: self.now)
            self.paths.append(WritePath(limiter))
            self.paths[-1].gate = world.gate

    def send(self, environment: int = 0, **frame: Any) -> str:
        return code(send(self.paths[environment], **frame))

    @property
    def pushed(self) -> int:
        return sum(len(path.live.sent) for path in self.paths)


@pytest.fixture
def typing(world: WholeRoomWorld) -> Typing:
    return Typing(world)


@pytest.mark.parametrize("scope", ["chat:write", TRUSTED])
def test_of_one_user_in_one_room_one_typing_signal_passes_in_three_seconds(typing: Typing, scope: str) -> None:
    passed = []
    for _ in range(200):
        for environment in (0, 1):
            if typing.send(environment, scope=scope) == "signalSent":
                passed.append(typing.now)
        typing.now += 0.05

    assert typing.pushed == len(passed) >= 3
    assert all(2.75 <= later - sooner <= 3.05 for sooner, later in pairwise(passed))


def test_a_refused_typing_signal_says_when_the_next_one_passes(typing: Typing) -> None:
    assert typing.send() == "signalSent"
    typing.now += 1

    answer = send(typing.paths[1])

    assert (answer["requestId"], answer["error"]["code"]) == ("7", "rate_limited")
    typing.now += answer["error"]["retryAfter"]
    assert typing.send() == "signalSent"


def test_another_room_user_or_name_is_not_limited_by_a_typing_signal(typing: Typing) -> None:
    assert typing.send() == "signalSent"

    assert typing.send(roomId="hall") == typing.send(user="bob") == "signalSent"
    assert [typing.send(name="cursor") for _ in range(30)] == ["signalSent"] * 30
    assert typing.send() == "rate_limited"


def test_a_signal_whose_right_is_refused_uses_up_no_other_typing(typing: Typing) -> None:
    assert [typing.send(user="carol") for _ in range(2)] == ["forbidden", "rate_limited"]
    assert typing.send() == "signalSent"


def test_without_the_cache_each_environment_lets_one_typing_signal_pass(typing: Typing) -> None:
    typing.cache.down = True

    assert [typing.send(environment) for environment in (0, 1, 0, 1)] == ["signalSent"] * 2 + ["rate_limited"] * 2


def test_no_text_of_a_signal_is_logged(world: WholeRoomWorld, capsys: pytest.CaptureFixture[str]) -> None:
    world.write_path.live.down = True

    send(world.write_path, data="our secret")
    send(world.write_path, data="our secret", roomId="#")

    assert "our secret" not in capsys.readouterr().out
