"""A message older than its room's days is shown nowhere, whatever its row says, and its row expires with it."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.core.errors import StoreUnavailable
from headrace.core.times import DAY, SECOND
from headrace.streams.chat.rooms.retention import AS_STAGE, RETENTION_SECONDS, Retention
from tests.worlds.retention_world import RetentionWorld
from tests.worlds.senders import TABLE

DAY_SECONDS = DAY / SECOND
STAGE_DAYS = TABLE.retention_days + 1
"""The stage's days count from one day after a message's time."""


def days_of(world: RetentionWorld, *events: dict[str, Any]) -> list[float]:
    """Store events; after how many days each row expires."""
    return [round(world.days_of(row), 4) for row in world.store(*events)]


@pytest.fixture
def world() -> RetentionWorld:
    return RetentionWorld()


def test_a_message_expires_after_the_days_of_its_room(world: RetentionWorld) -> None:
    assert days_of(world, world.message(1)) == [STAGE_DAYS]
    world.keep(7)
    world.wait(1)

    assert days_of(world, world.message(2), world.message(3)) == [7, 7], "the environment had not known it"
    assert days_of(world, world.message(4), world.message(5, days=2)) == [7, 7]
    world.persist = world.new_persist()
    assert days_of(world, world.message(6)) == [7]
    world.keep(None)
    world.wait(RETENTION_SECONDS)
    assert days_of(world, world.message(7), world.message(8)) == [STAGE_DAYS, STAGE_DAYS]


def test_days_that_an_environment_knows_no_more_for_sure_shorten_no_message(world: RetentionWorld) -> None:
    world.keep(1)
    world.store(world.message(1))
    world.keep(None)
    world.wait(60)
    world.rooms.down = True

    assert days_of(world, world.message(2)) == [STAGE_DAYS]


def test_a_message_that_is_older_than_the_days_is_not_counted_and_not_changed(world: RetentionWorld) -> None:
    old, young = world.message(1, days=2), world.message(2)
    world.store(old, young)
    assert world.rooms_of("bob")[0]["unread"] == 2

    world.keep(1)
    world.wait(RETENTION_SECONDS)

    assert world.rooms_of("bob")[0]["unread"] == 1
    assert world.refusal(world.change(old, "again")) == world.refusal(world.change(old, None)) == "NotFound"
    assert world.refusal(world.change(young, "again")) == ""
    world.wait(DAY_SECONDS)
    assert [world.rooms_of("bob")[0][name] for name in ("lastMessage", "unread")] == [None, 0]


@pytest.mark.parametrize("count", [3, 25])
def test_a_cached_page_does_not_show_what_the_room_keeps_no_more(world: RetentionWorld, count: int) -> None:
    world.store(*[world.message(number, days=2 - number / 100) for number in range(count)])
    for _ in range(2):
        assert len(world.texts(limit=20)) == min(count, 20)

    world.keep(1)

    world.read = world.new_reader()
    assert [world.texts(limit=20) for _ in range(3)] == [[], [], []]


def test_a_reader_sees_a_change_of_the_days_after_ten_seconds_and_reads_the_room_no_more_often() -> None:
    world = RetentionWorld("open")
    world.store(world.message(1, days=2), world.message(2))
    assert world.texts() == ["text 1", "text 2"]
    world.keep(1)

    reads = world.rooms.reads
    for _ in range(8):
        world.wait(1)
        world.texts()
    assert world.rooms.reads == reads
    world.wait(2)
    assert [world.texts() for _ in range(5)] == [["text 2"]] * 5
    assert world.rooms.reads == reads + 1


def test_while_the_rooms_cannot_be_read_the_last_known_days_count() -> None:
    world = RetentionWorld("open", retentionDays=1)
    world.store(world.message(1, days=2), world.message(2))
    assert world.texts() == ["text 2"]

    world.wait(60)
    world.rooms.down = True

    assert world.texts() == ["text 2"]
    world.read = world.new_reader()
    with pytest.raises(StoreUnavailable):
        world.texts()


def test_a_message_is_stored_while_the_rooms_are_away_and_hidden_in_time(world: RetentionWorld) -> None:
    world.keep(1)
    world.rooms.down = True
    row = world.store(world.message(1))[0]
    world.rooms.down = False
    assert round(world.days_of(row), 4) == STAGE_DAYS

    assert world.texts() == ["text 1"]
    world.wait(DAY_SECONDS + 1)
    assert world.texts() == []


def test_an_edit_expires_with_its_message_and_a_deletion_stays(world: RetentionWorld) -> None:
    world.keep(7)
    message = world.message(1)
    world.store(message)
    world.wait(DAY_SECONDS)

    assert days_of(world, world.change(message, "edited")) == [7]
    assert days_of(world, world.change(message, None)) == [STAGE_DAYS + 1]


def test_a_change_that_waited_is_not_pushed_once_its_message_is_too_old(world: RetentionWorld) -> None:
    message = world.message(1)
    world.store(message)
    edit = world.change(message, "edited")
    assert world.pushed() == ["text 1"]
    world.wait(2 * DAY_SECONDS)
    world.keep(1)

    world.store(edit)

    assert (world.pushed(), world.texts()) == ([], [])


def test_the_days_of_one_room_count_in_no_other(world: RetentionWorld) -> None:
    world.ok("alice", "PUT", "hall", {"kind": "open"})
    world.keep(1)
    world.store(world.message(1, days=2), world.message(2, days=2, room="hall"))

    assert world.of_user("alice", "alice") == world.of_user("alice", "bob") == ["text 2"]


@pytest.mark.parametrize("stage_expires_at", [None, 10**12])
def test_a_row_expires_at_the_sooner_time(stage_expires_at: int | None) -> None:
    row: dict[str, Any] = {} if stage_expires_at is None else {"expiresAt": stage_expires_at}

    assert not AS_STAGE.limit(row, "2026-01-01T00:00:00.000000Z", 0)
    assert Retention(2).limit(row, "1970-01-02T00:00:00.000000Z", 0)
    assert row == {"expiresAt": 3 * 24 * 3600}
    assert not Retention(3).limit(row, "1970-01-02T00:00:00.000000Z", 0)
