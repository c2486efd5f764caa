"""P12: who may change rooms and memberships, and see them."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.core.intervals import Interval
from tests.worlds.room_world import DIRECT, GROUP, OLD, OPEN, Keepers, caller
from tests.worlds.senders import NOW


@pytest.fixture
def keepers() -> Keepers:
    return Keepers()


def test_only_an_owner_brings_others_into_a_members_room_and_takes_them_out(keepers: Keepers) -> None:
    """P12."""
    keepers.ok("alice", "PUT", "kitchen", GROUP)

    assert keepers.ask("bob", "PUT", "kitchen/members/bob")[0] == 403
    assert keepers.ask("bob", "PUT", "kitchen/members/carol")[0] == 403
    assert keepers.ask("bob", "DELETE", "kitchen/members/alice")[0] == 403
    keepers.ok("alice", "PUT", "kitchen/members/bob")
    assert keepers.ask("bob", "PUT", "kitchen/members/carol")[0] == 403
    assert keepers.ask("bob", "PUT", "kitchen/members/bob", {"role": "owner"})[0] == 403
    keepers.ok("alice", "PUT", "kitchen/members/carol")
    assert keepers.ask("bob", "DELETE", "kitchen/members/carol")[0] == 403
    keepers.clock.advance(1)
    keepers.ok("alice", "DELETE", "kitchen/members/carol")
    assert keepers.ask("carol", "PUT", "kitchen/members/carol")[0] == 403, "who was taken out does not come back alone"
    keepers.ok("bob", "DELETE", "kitchen/members/bob")


def test_an_owner_makes_owners_whose_rights_end_when_they_leave(keepers: Keepers) -> None:
    """P12."""
    keepers.ok("alice", "PUT", "kitchen", GROUP)
    assert keepers.ok("alice", "PUT", "kitchen/members/bob", {"role": "owner"})["role"] == "owner"
    keepers.ok("bob", "PUT", "kitchen/members/carol")
    assert keepers.ask("bob", "DELETE", "kitchen/members/alice")[0] == 403, "the creator cannot be removed"
    keepers.clock.advance(1)

    keepers.ok("alice", "DELETE", "kitchen/members/bob")
    assert keepers.ask("bob", "PUT", "kitchen/members/dora")[0] == 403
    keepers.clock.advance(1)
    assert keepers.ok("alice", "PUT", "kitchen/members/bob")["role"] == "member"
    assert keepers.ask("bob", "PUT", "kitchen/members/dora")[0] == 403
    assert keepers.ok("alice", "PUT", "kitchen/members/bob", {"role": "owner"})["role"] == "owner"
    assert keepers.ok("alice", "PUT", "kitchen/members/bob", {"role": "member"})["role"] == "member"
    keepers.ok("alice", "DELETE", "kitchen/members/alice")
    assert keepers.ok("alice", "PUT", "kitchen/members/alice")["role"] == "owner", "the creator may come back"


def test_in_an_open_room_everybody_speaks_for_themselves(keepers: Keepers) -> None:
    keepers.ok("alice", "PUT", "kitchen", OPEN)
    keepers.ok("bob", "PUT", "kitchen/members/bob")

    assert keepers.ask("alice", "PUT", "kitchen/members/carol")[0] == 403
    assert keepers.ask("alice", "DELETE", "kitchen/members/bob")[0] == 403
    assert keepers.ask("bob", "PUT", "kitchen/members/bob", {"role": "owner"})[0] == 400


def test_a_direct_room_is_of_two_people_for_ever(keepers: Keepers) -> None:
    keepers.ok("alice", "PUT", "talk", DIRECT)
    keepers.ok("alice", "PUT", "talk/members/bob")
    keepers.ok("bob", "DELETE", "talk/members/bob")

    assert keepers.ask("alice", "PUT", "talk/members/carol")[0] == 409
    keepers.clock.advance(1)
    assert keepers.ok("alice", "PUT", "talk/members/bob")["leftAt"] is None
    assert keepers.ask("alice", "PUT", "hall", {"kind": "open", "form": "direct"})[0] == 400


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
def test_backdating_or_speaking_for_others_needs_a_trusted_token_and_the_refusal_names_the_field(
    keepers: Keepers, method: str, path: str, body: dict[str, Any], field: str
) -> None:
    """P12."""
    keepers.ok("alice", "PUT", "kitchen", GROUP)

    status, answer = keepers.ask("alice", method, path, body)

    assert (status, answer["error"]["code"]) == (403, "forbidden")
    assert [detail["field"] for detail in answer["error"]["details"]] == [field]
    assert keepers.row("alice").intervals == (Interval(NOW, None),)


def test_a_token_without_the_scope_changes_and_sees_nothing(keepers: Keepers) -> None:
    """P12."""
    keepers.ok("alice", "PUT", "kitchen", OPEN)

    assert keepers.ask("bob", "PUT", "kitchen/members/bob", scopes="chat:read")[0] == 403
    assert keepers.ask("bob", "DELETE", "kitchen/members/bob", scopes="chat:read")[0] == 403
    assert keepers.ask("bob", "PUT", "cellar", OPEN, scopes="analytics:read")[0] == 403
    assert keepers.ask("bob", "GET", "kitchen/members", scopes="chat:write")[0] == 403


def test_only_who_may_read_a_room_now_sees_who_is_in_it(keepers: Keepers) -> None:
    """P12."""
    keepers.ok("alice", "PUT", "kitchen", GROUP)
    keepers.ok("alice", "PUT", "kitchen/members/bob")
    page = keepers.ok("bob", "GET", "kitchen/members", query={"limit": "1"})
    keepers.clock.advance(1)
    keepers.ok("bob", "DELETE", "kitchen/members/bob")

    assert keepers.ask("bob", "GET", "kitchen/members")[0] == 403
    assert keepers.ask("bob", "GET", "kitchen/members", query={"after": page["next"]})[0] == 403
    assert keepers.ask("carol", "GET", "kitchen/members")[0] == 403
    assert keepers.ask("alice", "GET", "kitchen/members", query={"after": page["next"]})[0] == 400, "of another caller"
    assert keepers.ok("carol", "GET", "nowhere/members") == {"items": [], "next": None, "hasMore": False}


def test_read_scopes_follow_memberships_at_once(keepers: Keepers) -> None:
    """P12."""
    keepers.ok("alice", "PUT", "kitchen", GROUP)
    joined = keepers.ok("alice", "PUT", "kitchen/members/bob")["joinedAt"]
    assert keepers.access.read_scope(caller("bob"), "kitchen").intervals == (Interval(joined, None),)
    keepers.clock.advance(1)

    left = keepers.ok("alice", "DELETE", "kitchen/members/bob")["leftAt"]

    scope = keepers.access.read_scope(caller("bob"), "kitchen")
    assert (scope.intervals, scope.is_open) == ((Interval(joined, left),), False)
    assert keepers.access.read_scope(caller("bob"), "nowhere").intervals is None
