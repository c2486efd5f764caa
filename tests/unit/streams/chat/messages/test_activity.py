"""Rooms store the time of their last message, with one write per room and second."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.core.errors import StoreThrottled, StoreUnavailable
from headrace.core.keys import direct_room
from headrace.runtime.breaker import COOLDOWN_SECONDS
from headrace.streams.chat.messages.hooks import ActivityHook
from headrace.streams.chat.rooms.rooms import Room
from tests.fakes.chat import MemoryRooms
from tests.fakes.clock import FixedClock
from tests.worlds.history_world import START, at, no_expiry, row


class Parts:
    def __init__(self, *rooms: str) -> None:
        self.rooms = MemoryRooms()
        for room in rooms:
            self.rooms.create(Room(room, "members", "group", at(0), "owner"))
        self.monotonic = 0.0

    def environment(self) -> ActivityHook:
        return ActivityHook(self.rooms, self.rooms, no_expiry, FixedClock(START), lambda: self.monotonic)


def message_row(second: float, room: str = "kitchen", **more: Any) -> dict[str, Any]:
    return row(second, f"m{second}", room=room, **more)


def test_a_room_is_written_once_for_a_batch_and_a_second() -> None:
    parts = Parts("kitchen", "garden")
    hook = parts.environment()

    hook.after_store([message_row(1.2), message_row(1.5), message_row(1.1), message_row(1.3, "garden")])
    assert parts.rooms.raised == 2
    for tenth in range(10):
        hook.after_store([message_row(1 + tenth / 10)])
    assert parts.rooms.raised == 2
    hook.after_store([message_row(2.0)])

    assert parts.rooms.raised == 3
    assert parts.rooms.rows["kitchen"].last_key == message_row(2.0)["timestampSk"]
    assert parts.rooms.rows["garden"].last_key == message_row(1.3)["timestampSk"]


def test_a_message_that_is_stored_before_its_room_is_there_makes_it_an_open_one() -> None:
    parts = Parts()

    parts.environment().after_store([message_row(1, user="bob")])

    room = parts.rooms.rows["kitchen"]
    assert (room.kind, room.form, room.created_by) == ("open", "group", "bob")
    assert parts.rooms.rows["kitchen"].last_key == message_row(1)["timestampSk"]


def test_a_message_in_a_direct_room_that_is_missing_makes_no_open_room() -> None:
    parts, room_id = Parts(), direct_room("alice", "bob")

    parts.environment().after_store([message_row(1, room_id, user="alice")])

    room = parts.rooms.rows[room_id]
    assert (room.kind, room.form, room.created_by) == ("members", "direct", "alice")


def test_no_message_makes_a_room_with_shards() -> None:
    """That of a trusted sender can be stored without it: rooms may not have been readable when it was accepted."""
    parts = Parts()
    hook = parts.environment()

    assert hook.after_store([message_row(1, "stadium~8")]) == [None]

    assert parts.rooms.rows == {}
    parts.rooms.create(Room("stadium~8", "members", "group", at(0), "owner"))
    hook.after_store([message_row(2, "stadium~8")])
    assert parts.rooms.rows["stadium~8"].last_key == message_row(2)["timestampSk"]


def test_a_failed_write_is_redelivered_only_for_the_newest_of_a_room() -> None:
    parts = Parts("kitchen", "garden")
    hook = parts.environment()
    parts.rooms.down = True

    outcomes = hook.after_store([message_row(1), message_row(3), message_row(2), message_row(4, "garden")])

    assert [outcome is None for outcome in outcomes] == [True, False, True, False]
    assert all(isinstance(outcome, StoreUnavailable | None) for outcome in outcomes)
    parts.rooms.down = False
    parts.monotonic = COOLDOWN_SECONDS
    assert hook.after_store([message_row(3)]) == [None]
    assert parts.rooms.rows["kitchen"].last_key == message_row(3)["timestampSk"]


def test_a_table_that_does_not_answer_is_not_called_for_a_while() -> None:
    parts = Parts("kitchen")
    hook = parts.environment()
    parts.rooms.down = True

    for second in range(5):
        (outcome,) = hook.after_store([message_row(second)])
        assert isinstance(outcome, StoreUnavailable)
    assert parts.rooms.raised == 1

    parts.rooms.down, parts.monotonic = False, COOLDOWN_SECONDS
    assert hook.after_store([message_row(9)]) == [None]


def test_a_throttled_table_is_called_again_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = Parts("kitchen")
    hook = parts.environment()

    def throttled(*_: object) -> bool:
        raise StoreThrottled("slower")

    with monkeypatch.context() as patch:
        patch.setattr(parts.rooms, "raise_to", throttled)
        assert hook.after_store([message_row(1)]) != [None]
    assert hook.after_store([message_row(1)]) == [None]


@given(st.lists(st.lists(st.tuples(st.integers(0, 40), st.sampled_from("abc")), min_size=1, max_size=5), max_size=10))
def test_the_second_of_a_rooms_last_activity_is_exact(batches: list[list[tuple[int, str]]]) -> None:
    parts = Parts("a", "b", "c")
    environments = [parts.environment(), parts.environment()]

    for number, batch in enumerate(batches):
        environments[number % 2].after_store([message_row(tenths / 10, room) for tenths, room in batch])

    for room in "abc":
        keys = [
            message_row(tenths / 10)["timestampSk"] for batch in batches for tenths, where in batch if where == room
        ]
        newest = max(keys, default="")
        known = parts.rooms.rows[room].last_key or ""
        assert known[:19] == newest[:19]
        assert known <= newest
