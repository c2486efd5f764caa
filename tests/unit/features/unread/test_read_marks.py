"""Members see how far the others have read, and nothing of before they joined."""

from __future__ import annotations

import pytest

from headrace.core.times import iso
from tests.unit.streams.chat.rooms.test_room_service import read_marks
from tests.worlds.room_world import GROUP, RoomWorld


@pytest.fixture
def world() -> RoomWorld:
    return RoomWorld()


def test_members_see_how_far_the_others_have_read(world: RoomWorld) -> None:
    world.ok("alice", "PUT", "kitchen", GROUP)
    world.bring("alice", "kitchen", "bob")
    world.clock.advance(10)
    read = world.ok("bob", "PUT", "kitchen/read", {"upTo": iso(world.clock.now())})
    assert read_marks(world, "alice") == {"alice": None, "bob": read["readTo"]}

    world.clock.advance(10)
    world.bring("alice", "kitchen", "carol")
    assert read_marks(world, "carol")["bob"] is None, "it would tell of messages before Carol's join"

    world.clock.advance(10)
    read = world.ok("bob", "PUT", "kitchen/read", {"upTo": iso(world.clock.now())})
    assert read_marks(world, "carol")["bob"] == read["readTo"]
