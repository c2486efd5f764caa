"""Without invitations nobody is added by another user, and what was stored before holds."""

from __future__ import annotations

import pytest

from headrace.core import keys
from headrace.streams.chat.rooms.rooms import Room
from tests.worlds.room_world import GROUP, LATER
from tests.worlds.whole_room_world import WholeRoomWorld

FORBIDDEN = (403, "forbidden")
OURS = keys.direct_room("alice", "bob")


@pytest.fixture
def world() -> WholeRoomWorld:
    """Alice and Bob are both in kitchen, and Bob is invited to den. Then invitations are left out."""
    world = WholeRoomWorld()
    world.add_rooms()
    world.ok("carol", "PUT", "den", GROUP)
    world.ok("carol", "PUT", "den/members/bob")
    return left_out(world)


def left_out(world: WholeRoomWorld) -> WholeRoomWorld:
    world.routes = world.environment(world.clock, has_invitations=False)
    return world


def test_only_a_client_with_events_write_adds_others(world: WholeRoomWorld) -> None:
    world.ok("alice", "PUT", "attic", GROUP)

    assert world.refused("alice", "PUT", "attic/members/bob") == FORBIDDEN
    assert not world.row("bob", "attic").joins

    world.ok("importer", "PUT", "attic/members/bob", scopes="chat:write events:write")
    assert world.row("bob", "attic").is_open
    assert world.ok("alice", "PUT", "attic/members/bob", {"role": "owner"})["role"] == "owner"
    world.ok("alice", "DELETE", "attic/members/bob")
    assert world.refused("bob", "PUT", "attic/members/bob") == FORBIDDEN


def test_an_invitation_counts_again_when_the_feature_is_back(world: WholeRoomWorld) -> None:
    assert world.refused("bob", "GET", "den") == FORBIDDEN
    assert world.refused("bob", "PUT", "den/members/bob") == FORBIDDEN

    world.routes = world.environment(world.clock)

    assert world.invited_to() == ["den"]
    assert world.ok("bob", "PUT", "den/members/bob")["joinedAt"] is not None


@pytest.mark.parametrize("by", ["bob", "carol"])
def test_who_declined_or_was_removed_is_not_invited_when_the_feature_is_back(world: WholeRoomWorld, by: str) -> None:
    assert world.ok(by, "DELETE", "den/members/bob")["leftAt"] is None

    world.routes = world.environment(world.clock)

    assert world.invited_to() == []
    assert world.refused("bob", "PUT", "den/members/bob") == FORBIDDEN


def test_each_user_of_a_direct_room_opens_it(world: WholeRoomWorld) -> None:
    assert world.ok("alice", "PUT", "alice/direct/bob")["membership"]["state"] == "in"
    assert not world.row("bob", OURS).joins
    assert world.refused("alice", "PUT", f"{OURS}/members/bob") == FORBIDDEN

    assert world.ok("bob", "PUT", "bob/direct/alice")["membership"]["state"] == "in"
    assert world.row("alice", OURS).is_open


def test_a_block_holds_also_in_a_direct_room_that_the_blocker_had_wished(world: WholeRoomWorld) -> None:
    world.rooms.create(Room(OURS, "members", "direct", LATER, "bob"))
    world.invitations.block("bob", "alice", LATER)

    world.ok("alice", "PUT", "alice/direct/bob")

    assert not world.row("bob", OURS).joins
