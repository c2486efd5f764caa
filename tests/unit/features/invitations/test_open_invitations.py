"""An invitation counts while its inviter may invite, its user does not block them, and nothing happened since (P12)."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.core.times import iso
from headrace.streams.chat.rooms.consent import Invitation
from tests.worlds.room_world import GROUP
from tests.worlds.whole_room_world import WholeRoomWorld


@pytest.fixture
def world() -> WholeRoomWorld:
    """carol created the room, and mallory owns it too."""
    found = WholeRoomWorld()
    found.ok("carol", "PUT", "kitchen", GROUP)
    found.bring("carol", "kitchen", "mallory", {"role": "owner"})
    found.clock.advance(1)
    return found


def leftover(world: WholeRoomWorld, user: str, inviter: str, **more: Any) -> None:
    """A row that an interrupted request has left."""
    at = iso(world.clock.now())
    world.invitations.rows[user, "kitchen"] = Invitation(
        user, "kitchen", inviter, **{"invited_at": at, "role": "member"} | more
    )


def assert_not_invited(world: WholeRoomWorld, user: str, *, looks_open: bool = False) -> None:
    """The user is not invited; to owners it may look as if the user did not answer yet."""
    status, body = world.request(user, "PUT", f"kitchen/members/{user}")
    assert status == 403, body
    assert world.ok(user, "GET", f"{user}/invitations")["items"] == []
    assert bool(world.ok("carol", "GET", "kitchen/invited")["items"]) == looks_open
    status, shown = world.request(user, "GET", "kitchen")
    assert status == 403 or shown["invitation"] is None


def test_an_inviter_who_comes_back_brings_no_invitation_from_before(world: WholeRoomWorld) -> None:
    """It would show what was said while the inviter was outside."""
    world.ok("mallory", "PUT", "kitchen/members/puppet")
    world.clock.advance(1)
    world.ok("carol", "DELETE", "kitchen/members/mallory")
    world.clock.advance(1)
    world.bring("carol", "kitchen", "mallory", {"role": "owner"})

    assert_not_invited(world, "puppet")


def test_an_invitation_of_a_blocked_inviter_counts_for_nothing(world: WholeRoomWorld) -> None:
    world.ok("bob", "PUT", "bob/blocked/mallory")
    leftover(world, "bob", "mallory")

    assert_not_invited(world, "bob", looks_open=True)
    world.ok("carol", "PUT", "kitchen/members/bob")
    assert world.ok("bob", "PUT", "kitchen/members/bob")["joinedAt"]


def test_an_invitation_from_before_the_last_leave_counts_for_nothing(world: WholeRoomWorld) -> None:
    before = iso(world.clock.now())
    world.clock.advance(1)
    world.bring("carol", "kitchen", "bob")
    world.clock.advance(1)
    world.ok("bob", "DELETE", "kitchen/members/bob")
    leftover(world, "bob", "carol", invited_at=before)

    assert_not_invited(world, "bob")


def test_a_direct_room_begins_for_a_declined_user_when_they_open_it(world: WholeRoomWorld) -> None:
    room = world.ok("mallory", "PUT", "mallory/direct/bob")["roomId"]
    world.ok("mallory", "DELETE", f"{room}/members/bob")
    world.clock.advance(60)

    shown = world.ok("bob", "PUT", "bob/direct/mallory")

    assert shown["membership"]["since"] == iso(world.clock.now())


def test_owners_see_and_withdraw_the_open_invitations_of_a_room(world: WholeRoomWorld) -> None:
    at = iso(world.clock.now())
    for number, owner in enumerate(["carol", "mallory", "carol"]):
        world.ok(owner, "PUT", f"kitchen/members/user-{number}", {"role": "owner"} if number else None)

    first = world.ok("mallory", "GET", "kitchen/invited", query={"limit": "2"})
    rest = world.ok("mallory", "GET", "kitchen/invited", query={"limit": "2", "after": first["next"]})

    assert [first["hasMore"], rest["hasMore"], rest["next"]] == [True, False, None]
    assert first["items"] + rest["items"] == [
        {"userId": "user-0", "invitedBy": "carol", "invitedAt": at, "role": "member"},
        {"userId": "user-1", "invitedBy": "mallory", "invitedAt": at, "role": "owner"},
        {"userId": "user-2", "invitedBy": "carol", "invitedAt": at, "role": "owner"},
    ]
    world.ok("mallory", "DELETE", "kitchen/members/user-0")
    found = world.ok("carol", "GET", "kitchen/invited")["items"]
    assert [each["userId"] for each in found] == ["user-1", "user-2"]


@pytest.mark.parametrize("user", ["bob", "dora", "erin"])
def test_only_owners_see_who_is_invited(world: WholeRoomWorld, user: str) -> None:
    world.bring("carol", "kitchen", "bob")
    world.ok("carol", "PUT", "kitchen/members/dora")

    assert world.request(user, "GET", "kitchen/invited")[0] == 403
    assert world.request(user, "GET", "nowhere/invited")[0] == 404
