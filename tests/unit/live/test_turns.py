"""Rooms with many listeners take turns, so that others of the same live queue are served in time."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.live.push.api_gateway import Push, PushResult
from headrace.live.turns import ACTIVE_SECONDS, BATCH_SECONDS, KEPT_ITEMS, REST, SMALL_ROOM, TURN_SECONDS
from tests.fakes.clock import FixedClock
from tests.fakes.live import MemoryPusher
from tests.worlds.push_world import PushWorld, item

LISTENERS = 900


class SlowPusher(MemoryPusher):
    """Each push takes ``cost`` seconds, one after the other."""

    def __init__(self, clock: FixedClock) -> None:
        super().__init__()
        self._clock = clock
        self.cost = 0.001

    def deliver(self, sends: Sequence[Push], seconds: float) -> list[PushResult]:
        most = int(seconds / self.cost)
        self._clock.advance(self.cost * len(sends[:most]))
        return [*super().deliver(sends[:most], seconds), *(["unsent"] * len(sends[most:]))]


class Busy(PushWorld):
    """A large room ``flood`` whose pushes take 0.9 s, and a small room ``kitchen``."""

    def __init__(self, cost: float = 0.001) -> None:
        super().__init__()
        self.api: SlowPusher = SlowPusher(self.clock)
        self.api.cost = cost
        self.pusher._pusher = self.api
        self.listen(*(f"f-{number:03d}" for number in range(LISTENERS)), room="flood")
        self.listen("c-1", "c-2")

    def asked(self) -> list[str]:
        """The rooms of the pushes since the last call: each room once, in order."""
        asked = ["flood" if each.startswith("f-") else "kitchen" for each in self.api.asked]
        self.api.asked.clear()
        return list(dict.fromkeys(asked))


def test_a_room_with_few_listeners_is_served_before_one_with_many() -> None:
    push = Busy()

    push.push(item("x", room="flood"), item("one"))

    assert push.asked() == ["kitchen", "flood"]


def test_a_large_room_waits_after_its_turn_and_then_gets_all_messages() -> None:
    push = Busy()
    push.push(item("x", room="flood"), item("one"))
    push.asked()

    push.push(item("y", room="flood"), item("two"))
    push.push(item("z", room="flood"))
    assert push.asked() == ["kitchen"]
    push.clock.advance(REST * LISTENERS * push.api.cost)
    push.push(item("three"))

    assert push.asked() == ["kitchen", "flood"]
    assert push.got("f-000") == push.got("f-899") == [["x"], ["y", "z"]]
    assert push.got("c-1") == [["one"], ["two"], ["three"]]


def test_large_rooms_take_at_most_a_third_of_the_time_while_others_are_active() -> None:
    """A flood of batches, each longer than the time between two of them."""
    push = Busy(cost=0.002)
    began, waits = push.clock.now(), []
    for number in range(3000):
        arrived = push.clock.now()
        push.push(item(f"x{number}", room="flood"))
        waits.append((push.clock.now() - arrived) / 1_000_000)
        push.push(item(f"n{number}"))
        push.clock.advance(0.01)
    seconds = (push.clock.now() - began) / 1_000_000

    assert sum(waits) <= seconds / 3 * 1.05
    assert max(waits) <= TURN_SECONDS
    assert sorted(waits)[len(waits) // 2] == 0
    assert all(push.got(each)[-1] for each in ("f-000", "f-899"))


def test_listeners_of_a_room_too_large_for_one_turn_are_served_in_turn_with_a_notice() -> None:
    push = Busy(cost=0.005)
    for text in ("one", "two", "three", "four"):
        push.push(item(text), item(text, room="flood"))
        push.clock.advance(REST * BATCH_SECONDS)

    reached = int(TURN_SECONDS / push.api.cost)
    assert push.got("f-000") == [["one"], ["missed", "three"]]
    assert push.got(f"f-{reached:03d}") == [["missed", "two"], ["missed", "four"]]
    assert push.got("f-899") == [["missed", "three"]]
    assert all(push.got(f"f-{number:03d}") for number in range(LISTENERS))


def test_a_large_room_alone_has_the_whole_time_and_never_waits() -> None:
    push = Busy(cost=0.004)
    push.push(item("one"))
    push.clock.advance(ACTIVE_SECONDS)

    for number in range(3):
        push.push(item(f"n{number}", room="flood"))

    assert push.got("f-899") == [["n0"], ["n1"], ["n2"]]


def test_a_large_room_that_is_served_fast_does_not_wait() -> None:
    """Its next message may be the last one of the queue for long."""
    busy = Busy(cost=0.0001)
    busy.push(item("to the kitchen"), item("first", room="flood"))

    busy.push(item("second", room="flood"))

    assert busy.got("f-000") == [["first"], ["second"]]


def test_a_room_of_one_users_connections_never_waits() -> None:
    push = Busy()
    push.listen(*(f"s-{number}" for number in range(SMALL_ROOM)), room="small")
    push.push(item("x", room="flood"), item("one"))

    push.push(item("two", room="small"))

    assert push.got("s-0") == [["two"]]


def test_of_very_many_messages_that_wait_the_oldest_are_missed() -> None:
    push = Busy()
    push.push(item("x", room="flood"), item("one"))
    for number in range(KEPT_ITEMS + 10):
        push.push(item(f"n{number}", room="flood"))
    push.clock.advance(REST * BATCH_SECONDS)

    push.push(item("two"))

    frames = push.got("f-000")[1:]
    texts = [text for frame in frames for text in frame]
    assert texts == ["missed", *(f"n{number}" for number in range(10, KEPT_ITEMS + 10))]


def test_a_clock_that_was_set_back_makes_no_room_wait_for_long() -> None:
    push = Busy()
    push.push(item("x", room="flood"), item("one"))
    push.clock.advance(-3600)

    push.push(item("y", room="flood"), item("two"))

    assert push.got("f-899") == [["x"], ["y"]]
