"""Two users who may invite each other share one direct room, and an invited user sees what a room keeps."""

from __future__ import annotations

import pytest

from headrace.core.keys import direct_room
from headrace.streams.chat.rooms.rooms import Room
from tests.worlds.room_world import DIRECT, GROUP
from tests.worlds.senders import NOW
from tests.worlds.whole_room_world import WholeRoomWorld


@pytest.fixture
def world() -> WholeRoomWorld:
    return WholeRoomWorld()


def test_both_users_of_a_direct_room_get_the_same_one(world: WholeRoomWorld) -> None:
    first = world.ok("alice", "PUT", "alice/direct/bob")
    world.clock.advance(60)
    second = world.ok("bob", "PUT", "bob/direct/alice")

    assert first["roomId"] == second["roomId"] == direct_room("bob", "alice")
    assert (first["kind"], first["form"]) == ("members", "direct")
    assert first["membership"] == second["membership"] == {"state": "in", "since": NOW, "role": "owner"}
    assert world.ok("alice", "PUT", "alice/direct/bob") == first
    assert sorted(world.join_messages()) == [("JOIN", "alice", NOW), ("JOIN", "bob", NOW)]


def test_a_direct_room_that_was_cut_in_the_middle_is_completed_by_either(world: WholeRoomWorld) -> None:
    room = direct_room("alice", "bob")
    world.rooms.create(Room(room, "members", "direct", NOW, "alice"))
    world.clock.advance(30)

    assert world.ok("bob", "PUT", "bob/direct/alice")["roomId"] == room

    assert world.row("alice", room).is_open
    assert world.row("bob", room).is_open


def test_a_direct_room_has_two_members_permanently(world: WholeRoomWorld) -> None:
    world.ok("alice", "PUT", "talk", DIRECT)
    world.bring("alice", "talk", "bob")
    world.ok("bob", "DELETE", "talk/members/bob")

    assert world.request("alice", "PUT", "talk/members/carol")[0] == 409
    world.clock.advance(1)
    assert world.bring("alice", "talk", "bob")["leftAt"] is None
    assert world.request("alice", "PUT", "hall", {"kind": "open", "form": "direct"})[0] == 400


def test_an_invited_user_sees_the_days(world: WholeRoomWorld) -> None:
    world.ok("alice", "PUT", "kitchen", GROUP)
    world.ok("alice", "PATCH", "kitchen", {"retentionDays": 9})
    world.ok("alice", "PUT", "kitchen/members/bob")

    (item,) = world.ok("bob", "GET", "bob/invitations")["items"]

    assert item["retentionDays"] == 9
