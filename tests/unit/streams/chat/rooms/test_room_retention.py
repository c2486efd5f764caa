"""Owners choose for how many days their room keeps messages, at most as many as the stage."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from headrace.core.keys import direct_room
from headrace.core.times import DAY, iso
from headrace.streams.chat.rooms.retention import Retention
from tests.worlds.room_world import GROUP, OPEN, TRUSTED, RoomWorld
from tests.worlds.senders import TABLE

MOST = TABLE.retention_days


@pytest.fixture
def world() -> RoomWorld:
    return RoomWorld()


def shown(world: RoomWorld, room: str = "kitchen") -> int | None:
    days: int | None = world.ok("alice", "GET", room)["retentionDays"]
    return days


@pytest.mark.parametrize("kind", [GROUP, OPEN])
def test_the_days_are_set_at_creation_and_changed_by_the_owner(world: RoomWorld, kind: dict[str, str]) -> None:
    assert world.ok("alice", "PUT", "kitchen", {**kind, "retentionDays": 7})["retentionDays"] == shown(world) == 7
    assert world.ok("alice", "PUT", "kitchen", {**kind, "retentionDays": 3})["retentionDays"] == 7, "it exists"

    for days in (1, MOST, None, None, 5, 5):
        changed = world.ok("alice", "PATCH", "kitchen", {"retentionDays": days})
        assert changed["retentionDays"] == shown(world) == days
    assert world.ok("alice", "PATCH", "kitchen", {"topic": "dishes"})["retentionDays"] == 5
    assert world.ok("alice", "PATCH", "kitchen", {"topic": None, "retentionDays": 6})["retentionDays"] == 6


@pytest.mark.parametrize("days", [0, -1, MOST + 1, 3651, 10**20, 1.5, "7", True, [], {}])
def test_other_days_are_refused_by_field_and_change_nothing(world: RoomWorld, days: Any) -> None:
    world.ok("alice", "PUT", "kitchen", {**GROUP, "retentionDays": 7})

    for method, body in (("PUT", {**GROUP, "retentionDays": days}), ("PATCH", {"retentionDays": days, "name": "x"})):
        for room in ("kitchen", "cellar") if method == "PUT" else ("kitchen",):
            status, answer = world.request("alice", method, room, body)
            assert (status, answer["error"]["code"]) == (400, "invalid_request")
            assert answer["error"]["details"][0]["field"] == "retentionDays"

    assert (world.rooms.rows["kitchen"].name, shown(world)) == (None, 7)
    assert "cellar" not in world.rooms.rows


def test_who_does_not_own_the_room_does_not_change_its_days(world: RoomWorld) -> None:
    world.ok("alice", "PUT", "kitchen", GROUP)
    world.ok("alice", "PUT", "hall", OPEN)
    world.bring("alice", "kitchen", "bob")

    for user, room in (("bob", "kitchen"), ("carol", "kitchen"), ("bob", "hall")):
        assert world.refused(user, "PATCH", room, {"retentionDays": 1}) == (403, "forbidden")
    assert world.refused("bob", "PATCH", "nowhere", {"retentionDays": 1}) == (404, "not_found")
    assert world.ok("importer", "PATCH", "kitchen", {"retentionDays": 2}, scopes=f"{TRUSTED} chat:write")


def test_both_users_of_a_direct_room_choose_its_days(world: RoomWorld) -> None:
    world.ok("alice", "PUT", "alice/direct/bob")
    world.ok("bob", "PUT", "bob/direct/alice")
    room = direct_room("alice", "bob")

    for user, days in (("alice", 3), ("bob", 2)):
        assert world.ok(user, "PATCH", room, {"retentionDays": days})["retentionDays"] == days
    assert world.refused("carol", "PATCH", room, {"retentionDays": 1}) == (403, "forbidden")


def test_two_changes_at_once_keep_what_is_gone_gone(world: RoomWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """One raises the days that were read as 2, while another has lowered them to 1."""
    world.ok("alice", "PUT", "kitchen", {**GROUP, "retentionDays": 2})
    now = world.clock.now()
    change = world.rooms.change

    def lowered(*arguments: Any) -> Any:
        monkeypatch.undo()
        room = world.rooms.rows["kitchen"]
        world.rooms.rows["kitchen"] = replace(room, retention=room.retention.changed(1, now))
        return change(*arguments)

    monkeypatch.setattr(world.rooms, "change", lowered)
    world.ok("alice", "PATCH", "kitchen", {"retentionDays": 30})

    assert world.rooms.rows["kitchen"].retention == Retention(30, iso(now - DAY))


def test_a_room_that_changes_all_the_time_is_an_error_that_says_to_repeat(
    world: RoomWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.ok("alice", "PUT", "kitchen", GROUP)
    monkeypatch.setattr(world.rooms, "change", lambda *_: None)

    assert world.refused("alice", "PATCH", "kitchen", {"retentionDays": 3}) == (503, "unavailable")
