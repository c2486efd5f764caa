"""One room as a whole: reading it, its name and topic, and direct rooms whose id the server makes."""

from __future__ import annotations

import pytest

from headrace.core.keys import direct_room
from tests.worlds.room_world import DIRECT, GROUP, OPEN, TRUSTED, RoomWorld
from tests.worlds.senders import NOW

WEEKEND = {"name": "Weekend", "topic": "who cooks?"}


@pytest.fixture
def world() -> RoomWorld:
    return RoomWorld()


def test_a_room_shows_what_it_is_and_the_callers_membership(world: RoomWorld) -> None:
    world.ok("alice", "PUT", "kitchen", {**GROUP, **WEEKEND})

    assert world.ok("alice", "GET", "kitchen") == {
        "roomId": "kitchen",
        "kind": "members",
        "form": "group",
        **WEEKEND,
        "retentionDays": None,
        "createdAt": NOW,
        "createdBy": "alice",
        "membership": {"state": "in", "since": NOW, "role": "owner"},
        "invitation": None,
    }


def test_p12_a_members_room_is_shown_to_users_who_were_ever_in_it(world: RoomWorld) -> None:
    world.ok("alice", "PUT", "kitchen", GROUP)
    world.bring("alice", "kitchen", "bob")
    world.clock.advance(60)
    left_at = world.ok("bob", "DELETE", "kitchen/members/bob")["leftAt"]

    assert world.ok("bob", "GET", "kitchen")["membership"] == {"state": "left", "since": left_at, "role": "member"}
    assert world.refused("carol", "GET", "kitchen") == (403, "forbidden")


@pytest.mark.parametrize("method", ["GET", "PATCH"])
def test_a_room_that_does_not_exist_is_not_found(world: RoomWorld, method: str) -> None:
    assert world.refused("alice", method, "nowhere", {}) == (404, "not_found")


def test_a_repeated_creation_keeps_the_name_that_was_given_since(world: RoomWorld) -> None:
    world.ok("alice", "PUT", "kitchen", {**GROUP, **WEEKEND})
    world.ok("alice", "PATCH", "kitchen", {"name": "Everyday"})

    again = world.ok("alice", "PUT", "kitchen", {**GROUP, **WEEKEND})

    assert (again["name"], again["topic"]) == ("Everyday", "who cooks?")


def test_a_change_sets_removes_and_leaves_texts(world: RoomWorld) -> None:
    world.ok("alice", "PUT", "kitchen", {**GROUP, **WEEKEND})

    changed = world.ok("alice", "PATCH", "kitchen", {"topic": None})
    assert (changed["name"], changed["topic"]) == ("Weekend", None)
    assert world.ok("alice", "PATCH", "kitchen", {}) == changed
    assert world.ok("alice", "PATCH", "kitchen", {"topic": "dishes"}) == {**changed, "topic": "dishes"}
    assert world.ok("alice", "GET", "kitchen", routes=world.environment(world.clock))["topic"] == "dishes"


def test_a_room_that_an_operator_deleted_is_not_changed(world: RoomWorld) -> None:
    world.ok("alice", "PUT", "kitchen", GROUP)
    del world.rooms.rows["kitchen"]

    assert world.refused("alice", "PATCH", "kitchen", WEEKEND) == (404, "not_found")


def test_owners_change_a_members_room_and_the_creator_an_open_one(world: RoomWorld) -> None:
    world.ok("alice", "PUT", "kitchen", GROUP)
    world.bring("alice", "kitchen", "bob", {"role": "owner"})
    world.bring("alice", "kitchen", "carol")
    world.ok("alice", "PUT", "hall", OPEN)

    assert world.ok("bob", "PATCH", "kitchen", {"name": "Bob's"})["name"] == "Bob's"
    assert world.ok("producer", "PATCH", "kitchen", {"name": "Imported"}, scopes=TRUSTED)["name"] == "Imported"
    assert world.ok("alice", "PATCH", "hall", {"name": "Hall"})["name"] == "Hall"
    world.ok("bob", "DELETE", "kitchen/members/bob")
    for user, room in (("carol", "kitchen"), ("bob", "kitchen"), ("dave", "kitchen"), ("bob", "hall")):
        assert world.refused(user, "PATCH", room, {"name": "x"}) == (403, "forbidden")


def test_a_user_who_left_a_direct_room_returns_alone(world: RoomWorld) -> None:
    room = world.ok("alice", "PUT", "alice/direct/bob")["roomId"]
    world.clock.advance(1)
    for user in ("alice", "bob"):
        world.ok(user, "DELETE", f"{room}/members/{user}")
    world.clock.advance(1)

    assert world.ok("alice", "PUT", "alice/direct/bob")["membership"]["state"] == "in"
    assert not world.row("bob", room).is_open


@pytest.mark.parametrize(
    ("user", "path", "expected"),
    [
        ("carol", "alice/direct/bob", (403, "forbidden")),
        ("alice", "alice/direct/alice", (400, "invalid_request")),
        ("alice", "alice/direct/a#b", (400, "invalid_request")),
    ],
)
def test_a_direct_room_of_others_or_of_one_user_is_refused(
    world: RoomWorld, user: str, path: str, expected: tuple[int, str]
) -> None:
    assert world.refused(user, "PUT", path) == expected
    assert not world.rooms.rows


def test_a_producer_opens_direct_rooms_of_any_users(world: RoomWorld) -> None:
    room = world.ok("producer", "PUT", "alice/direct/bob", scopes=TRUSTED)

    assert (room["createdBy"], room["membership"]["state"]) == ("alice", "in")


@pytest.mark.parametrize("body", [OPEN, GROUP, DIRECT])
def test_no_user_takes_the_id_of_a_direct_room_of_others(world: RoomWorld, body: dict[str, str]) -> None:
    room = direct_room("alice", "bob")

    assert world.refused("mallory", "PUT", room, body) == (400, "invalid_request")
    assert world.ok("alice", "PUT", "alice/direct/bob")["roomId"] == room
