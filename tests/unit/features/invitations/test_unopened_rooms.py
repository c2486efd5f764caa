"""An acquaintance adds a user to a bounded number of rooms that are not opened, and after a block to none (P12)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from headrace.core.errors import StoreUnavailable
from headrace.core.times import SECOND, iso
from headrace.features.invitations.dynamodb import JOIN_TIME, UNOPENED_LIMIT
from headrace.streams.chat.rooms.memberships import Change, Membership
from headrace.streams.chat.rooms.rooms import Room
from tests.worlds.room_world import GROUP, TRUSTED
from tests.worlds.whole_room_world import WholeRoomWorld


@pytest.fixture
def world() -> WholeRoomWorld:
    """Bob is in a room of Mallory's, as a member of any large room may be."""
    found = WholeRoomWorld()
    found.ok("mallory", "PUT", "trap", GROUP)
    found.bring("mallory", "trap", "bob")
    found.memberships.mark_read("bob", "trap", "2025-11-21T10:00:00.000000Z")
    return found


def put_into(world: WholeRoomWorld, numbers: Iterable[int]) -> list[bool]:
    """Whether Bob is in each of these new rooms of Mallory's, who puts him there."""
    found = []
    for number in numbers:
        world.clock.advance(1)
        world.ok("mallory", "PUT", f"zz-{number}", GROUP)
        found.append(world.ok("mallory", "PUT", f"zz-{number}/members/bob")["joinedAt"] is not None)
    return found


def test_an_acquaintance_fills_a_list_with_twenty_unopened_rooms_at_most(world: WholeRoomWorld) -> None:

    assert put_into(world, range(30)) == [True] * UNOPENED_LIMIT + [False] * 10
    assert world.invited_to() == [f"zz-{number}" for number in range(20, 30)]


def test_a_room_counts_for_five_minutes_if_its_request_was_interrupted(
    world: WholeRoomWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_into(world, range(15))
    with monkeypatch.context() as interrupted:
        interrupted.setattr(world.memberships, "add", raise_unavailable)
        for number in range(15, 20):
            world.clock.advance(1)
            world.rooms.create(Room(f"zz-{number}", "members", "group", iso(world.clock.now()), "mallory"))
            assert world.request("mallory", "PUT", f"zz-{number}/members/bob")[0] == 503

    assert put_into(world, [19]) == [True], "repeating the request completes it"
    assert put_into(world, [20]) == [False]
    world.clock.advance(JOIN_TIME / SECOND)

    assert put_into(world, range(21, 26)) == [True] * 4 + [False]


def raise_unavailable(*_: object) -> Any:
    raise StoreUnavailable("memberships are unavailable")


def test_a_room_that_its_user_opens_makes_place_for_another(world: WholeRoomWorld) -> None:
    put_into(world, range(20))

    world.memberships.mark_read("bob", "zz-0", "2025-11-21T10:00:00.000000Z")
    world.ok("bob", "DELETE", "zz-1/members/bob")

    assert put_into(world, range(20, 23)) == [True, True, False]


def test_rooms_of_others_and_own_joins_do_not_count(world: WholeRoomWorld) -> None:
    for number in range(UNOPENED_LIMIT):
        world.ok("mallory", "PUT", f"import-{number}", GROUP)
        world.ok("importer", "PUT", f"import-{number}/members/bob", scopes=TRUSTED)
    world.ok("alice", "PUT", "kitchen", GROUP)
    world.bring("alice", "kitchen", "bob")

    assert put_into(world, range(1)) == [True]


def test_a_block_leaves_the_rooms_into_which_the_blocked_user_put_one(world: WholeRoomWorld) -> None:
    """For good, so that they are in no list. Rooms that one joined oneself stay."""
    put_into(world, range(5))
    world.memberships.mark_read("bob", "zz-0", "2025-11-21T10:00:00.000000Z")
    world.ok("bob", "DELETE", "zz-1/members/bob")
    world.ok("bob", "PUT", "own", GROUP)

    world.ok("bob", "PUT", "bob/blocked/mallory")

    assert {each.room_id for each in world.memberships.rooms_of("bob", 99)[0]} == {"own", "trap"}
    assert not any(world.row("bob", f"zz-{number}").is_open for number in range(5))
    left = [each["roomId"] for each in world.write_path.published() if each["messageType"] == "LEAVE"]
    assert set(left) == {f"zz-{number}" for number in range(5)}
    assert world.ok("mallory", "PUT", "zz-0/members/bob")["invitedAt"] is not None
    assert not world.row("bob", "zz-0").is_open
    assert world.invited_to() == []


@pytest.mark.parametrize("path", ["zz-1/members/bob", "mallory/direct/bob"])
def test_a_block_ends_a_join_by_the_blocked_user_that_happens_at_the_same_time(
    world: WholeRoomWorld, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    world.ok("mallory", "PUT", "zz-1", GROUP)
    add = world.memberships.add

    def after_the_block(change: Change) -> Membership:
        if change.user_id == "bob":
            monkeypatch.setattr(world.memberships, "add", add)
            world.ok("bob", "PUT", "bob/blocked/mallory")
        return add(change)

    monkeypatch.setattr(world.memberships, "add", after_the_block)

    assert world.refused("mallory", "PUT", path) == (503, "unavailable")
    world.ok("mallory", "PUT", path)
    assert world.invited_to() == []
    assert {each.room_id for each in world.memberships.rooms_of("bob", 99)[0]} == {"trap"}


def test_a_block_that_was_interrupted_is_completed_by_repeating_it(world: WholeRoomWorld) -> None:
    put_into(world, range(3))
    world.write_path.broker.down = world.write_path.retry.down = True
    assert world.request("bob", "PUT", "bob/blocked/mallory")[0] == 503
    world.write_path.broker.down = world.write_path.retry.down = False

    world.ok("bob", "PUT", "bob/blocked/mallory")

    assert {each.room_id for each in world.memberships.rooms_of("bob", 99)[0]} == {"trap"}


def test_accepting_an_invitation_is_a_join_of_ones_own(world: WholeRoomWorld) -> None:
    put_into(world, range(1))
    world.ok("bob", "DELETE", "zz-0/members/bob", {"forGood": True})
    world.clock.advance(1)
    world.bring("mallory", "zz-0", "bob")

    world.ok("bob", "PUT", "bob/blocked/mallory")

    assert world.row("bob", "zz-0").is_open
