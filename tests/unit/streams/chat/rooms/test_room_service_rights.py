"""P12: who may change rooms and memberships, and see them."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.core.times import Interval
from tests.worlds.room_world import GROUP, OLD, OPEN, RoomWorld
from tests.worlds.senders import NOW


@pytest.fixture
def world() -> RoomWorld:
    return RoomWorld()


def test_only_owners_add_and_remove_other_members(world: RoomWorld) -> None:
    """P12."""
    world.ok("alice", "PUT", "kitchen", GROUP)

    assert world.request("bob", "PUT", "kitchen/members/bob")[0] == 403
    assert world.request("bob", "PUT", "kitchen/members/carol")[0] == 403
    assert world.request("bob", "DELETE", "kitchen/members/alice")[0] == 403
    world.bring("alice", "kitchen", "bob")
    assert world.request("bob", "PUT", "kitchen/members/carol")[0] == 403
    assert world.request("bob", "PUT", "kitchen/members/bob", {"role": "owner"})[0] == 403
    world.bring("alice", "kitchen", "carol")
    assert world.request("bob", "DELETE", "kitchen/members/carol")[0] == 403
    world.clock.advance(1)
    world.ok("alice", "DELETE", "kitchen/members/carol")
    assert world.request("carol", "PUT", "kitchen/members/carol")[0] == 403, "removed users cannot add themselves"
    world.ok("bob", "DELETE", "kitchen/members/bob")


def test_an_owner_makes_owners_whose_rights_end_when_they_leave(world: RoomWorld) -> None:
    """P12."""
    world.ok("alice", "PUT", "kitchen", GROUP)
    assert world.bring("alice", "kitchen", "bob", {"role": "owner"})["role"] == "owner"
    world.bring("bob", "kitchen", "carol")
    assert world.request("bob", "DELETE", "kitchen/members/alice")[0] == 403, "the creator cannot be removed"
    world.clock.advance(1)

    world.ok("alice", "DELETE", "kitchen/members/bob")
    assert world.request("bob", "PUT", "kitchen/members/dora")[0] == 403
    world.clock.advance(1)
    assert world.bring("alice", "kitchen", "bob")["role"] == "member"
    assert world.request("bob", "PUT", "kitchen/members/dora")[0] == 403
    assert world.bring("alice", "kitchen", "bob", {"role": "owner"})["role"] == "owner"
    assert world.bring("alice", "kitchen", "bob", {"role": "member"})["role"] == "member"
    world.ok("alice", "DELETE", "kitchen/members/alice")
    assert world.ok("alice", "PUT", "kitchen/members/alice")["role"] == "owner", "the creator may come back"


def test_in_an_open_room_users_change_only_their_own_membership(world: RoomWorld) -> None:
    world.ok("alice", "PUT", "kitchen", OPEN)
    world.ok("bob", "PUT", "kitchen/members/bob")

    assert world.request("alice", "PUT", "kitchen/members/carol")[0] == 403
    assert world.request("alice", "DELETE", "kitchen/members/bob")[0] == 403
    assert world.request("bob", "PUT", "kitchen/members/bob", {"role": "owner"})[0] == 400


@pytest.mark.parametrize(
    ("method", "path", "body", "field"),
    [
        ("PUT", "kitchen/members/alice", {"joinedAt": OLD}, "joinedAt"),
        ("PUT", "kitchen/members/alice", {"id": "x"}, "id"),
        ("PUT", "kitchen/members/alice", {"username": "Bob"}, "username"),
        ("DELETE", "kitchen/members/alice", {"leftAt": OLD}, "leftAt"),
        ("PUT", "cellar", {"kind": "open", "createdAt": OLD}, "createdAt"),
        ("PUT", "cellar", {"kind": "open", "createdBy": "bob"}, "createdBy"),
    ],
)
def test_backdating_and_other_user_ids_need_a_trusted_token(
    world: RoomWorld, method: str, path: str, body: dict[str, Any], field: str
) -> None:
    """P12."""
    world.ok("alice", "PUT", "kitchen", GROUP)

    status, answer = world.request("alice", method, path, body)

    assert (status, answer["error"]["code"]) == (403, "forbidden")
    assert [detail["field"] for detail in answer["error"]["details"]] == [field]
    assert world.row("alice").intervals == (Interval(NOW, None),)


def test_only_current_readers_of_a_room_see_its_members(world: RoomWorld) -> None:
    """P12."""
    world.ok("alice", "PUT", "kitchen", GROUP)
    world.bring("alice", "kitchen", "bob")
    page = world.ok("bob", "GET", "kitchen/members", query={"limit": "1"})
    world.clock.advance(1)
    world.ok("bob", "DELETE", "kitchen/members/bob")

    assert world.request("bob", "GET", "kitchen/members")[0] == 403
    assert world.request("bob", "GET", "kitchen/members", query={"after": page["next"]})[0] == 403
    assert world.request("carol", "GET", "kitchen/members")[0] == 403
    assert world.request("alice", "GET", "kitchen/members", query={"after": page["next"]})[0] == 400, (
        "another caller's cursor"
    )
    status, answer = world.request("carol", "GET", "nowhere/members")
    assert (status, answer["error"]["code"]) == (404, "not_found")
