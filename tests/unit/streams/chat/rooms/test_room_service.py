"""manage_rooms creates rooms, and adds and removes members."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.core.errors import ConnectionLost
from headrace.core.times import Interval, iso, parse_iso
from headrace.streams.chat.rooms.routes import CHANNEL_MEMBERS
from tests.fakes.clock import FixedClock
from tests.worlds.room_world import DIRECT, GROUP, LATER, OLD, OPEN, TRUSTED, RoomWorld
from tests.worlds.senders import NOW


@pytest.fixture
def world() -> RoomWorld:
    return RoomWorld()


def test_the_request_that_creates_a_members_room_makes_its_sender_the_owner(world: RoomWorld) -> None:
    body = world.ok("alice", "PUT", "kitchen", GROUP)

    assert body == {
        "roomId": "kitchen",
        "kind": "members",
        "form": "group",
        "name": None,
        "topic": None,
        "retentionDays": None,
        "createdAt": NOW,
        "createdBy": "alice",
    }
    (member,) = world.ok("alice", "GET", "kitchen/members")["items"]
    assert member == {"userId": "alice", "username": "Alice", "role": "owner", "joinedAt": NOW, "readTo": None}
    assert world.join_messages() == [("JOIN", "alice", NOW)]


def test_creating_a_room_again_is_idempotent_and_refused_if_it_differs(world: RoomWorld) -> None:
    """P3."""
    first = world.ok("alice", "PUT", "kitchen", GROUP)
    world.clock.advance(60)

    assert world.ok("alice", "PUT", "kitchen", GROUP) == first
    for user, body in (("alice", OPEN), ("alice", DIRECT), ("bob", GROUP)):
        status, answer = world.request(user, "PUT", "kitchen", body)
        assert (status, answer["error"]["code"]) == (409, "conflict")
    assert world.row("alice").intervals == (Interval(NOW, None),)
    assert not world.row("bob").joins
    assert world.join_messages() == [("JOIN", "alice", NOW)]


def test_every_user_may_create_an_open_room_again(world: RoomWorld) -> None:
    first = world.ok("alice", "PUT", "kitchen", OPEN)

    assert world.ok("bob", "PUT", "kitchen", OPEN) == first
    assert world.join_messages() == []


def test_repeating_an_interrupted_creation_completes_it(world: RoomWorld) -> None:
    world.memberships.down = True
    assert world.request("alice", "PUT", "kitchen", GROUP)[0] == 503
    world.memberships.down = False
    world.clock.advance(30)

    body = world.ok("alice", "PUT", "kitchen", GROUP)

    assert world.row("alice").intervals == (Interval(body["createdAt"], None),)


def test_a_repeated_creation_does_not_bring_back_a_creator_who_has_left(world: RoomWorld) -> None:
    world.ok("alice", "PUT", "kitchen", GROUP)
    world.clock.advance(5)
    world.ok("alice", "DELETE", "kitchen/members/alice")

    world.ok("alice", "PUT", "kitchen", GROUP)

    assert not world.row("alice").is_open


def test_the_history_contains_joins_and_leaves(world: RoomWorld) -> None:
    world.ok("alice", "PUT", "kitchen", OPEN)
    times = []
    for method in ("PUT", "DELETE", "PUT"):
        world.clock.advance(1)
        times.append(iso(world.clock.now()))
        body = world.ok("bob", method, "kitchen/members/bob")

    assert body == {
        "roomId": "kitchen",
        "userId": "bob",
        "username": "Bob",
        "role": "member",
        "joinedAt": times[2],
        "leftAt": None,
        "invitedAt": None,
    }
    assert world.row("bob").intervals == (Interval(times[0], times[1]), Interval(times[2], None))
    assert world.join_messages() == [("JOIN", "bob", times[0]), ("LEAVE", "bob", times[1]), ("JOIN", "bob", times[2])]


def test_joining_or_leaving_twice_changes_nothing_and_repeats_its_message(world: RoomWorld) -> None:
    """P3."""
    world.ok("alice", "PUT", "kitchen", OPEN)
    for method in ("PUT", "DELETE"):
        first = world.ok("bob", method, "kitchen/members/bob")
        sent = world.write_path.published()[-1]
        world.clock.advance(10)

        assert world.ok("bob", method, "kitchen/members/bob") == first
        assert world.write_path.published()[-1] == sent
        world.clock.advance(600)
        before = len(world.write_path.published())
        assert world.ok("bob", method, "kitchen/members/bob") == first
        assert len(world.write_path.published()) == before, "an old message was published again"
    assert len(world.row("bob").joins) == len(world.row("bob").leaves) == 1


def test_repeating_a_request_publishes_a_join_message_that_was_refused(world: RoomWorld) -> None:
    """P2: the answer is a 503, the membership is in force, and repeating the request publishes its message."""
    world.ok("alice", "PUT", "kitchen", OPEN)
    world.write_path.broker.fail_next(ConnectionLost("no"))
    world.write_path.retry.down = True
    status, body = world.request("bob", "PUT", "kitchen/members/bob")
    world.write_path.retry.down = False

    assert (status, body["error"]["code"]) == (503, "unavailable")
    assert world.row("bob").is_open
    world.clock.advance(20)
    world.ok("bob", "PUT", "kitchen/members/bob")
    assert world.join_messages() == [("JOIN", "bob", NOW)]


@pytest.mark.parametrize("behind", [0, 0.25, 3600])
def test_an_answered_leave_applies_despite_clock_skew(world: RoomWorld, behind: float) -> None:
    """P12: a leave ends a join whose server's clock was ahead."""
    slow = FixedClock(world.clock.now())
    slow.advance(-behind)
    other = world.environment(slow)
    world.ok("alice", "PUT", "kitchen", OPEN)

    for _ in range(3):
        joined = world.ok("bob", "PUT", "kitchen/members/bob")
        assert world.row("bob").is_open
        left = world.ok("bob", "DELETE", "kitchen/members/bob", routes=other)
        assert not world.row("bob").is_open
        assert parse_iso(left["leftAt"]) == parse_iso(joined["joinedAt"]) + 1
        assert world.ok("bob", "PUT", "kitchen/members/bob", routes=other)["leftAt"] is None
        assert world.row("bob").is_open
        world.ok("bob", "DELETE", "kitchen/members/bob")


def test_a_trusted_producer_imports_rooms_and_intervals_of_any_age_in_any_order(world: RoomWorld) -> None:
    """P8: late, repeated and reordered joins and leaves give the same intervals."""
    room = {"kind": "members", "createdBy": "zoe", "createdAt": OLD}
    for _ in range(2):
        world.ok("importer", "PUT", "channel", room, scopes=TRUSTED)
        world.ok("importer", "DELETE", "channel/members/bob", {"leftAt": LATER, "id": "l-1"}, scopes=TRUSTED)
        body = {"joinedAt": OLD, "id": "j-1", "username": "Bobby"}
        answer = world.ok("importer", "PUT", "channel/members/bob", body, scopes=TRUSTED)

    assert answer["username"] == "Bobby"
    assert world.row("bob", "channel").intervals == (Interval(OLD, LATER),)
    assert world.row("zoe", "channel").intervals == (Interval(OLD, None),)
    assert not world.row("importer", "channel").joins
    assert ("JOIN", "bob", OLD) in world.join_messages()
    assert {each["messageId"] for each in world.write_path.published() if each["userId"] == "bob"} >= {"j-1"}


def test_a_join_or_leave_without_effect_publishes_no_message(world: RoomWorld) -> None:
    world.ok("importer", "PUT", "channel", {"kind": "members", "createdAt": OLD}, scopes=TRUSTED)
    world.ok("importer", "PUT", "channel/members/bob", {"joinedAt": OLD}, scopes=TRUSTED)
    world.ok("importer", "PUT", "channel/members/bob", {"joinedAt": LATER}, scopes=TRUSTED)
    world.ok("importer", "DELETE", "channel/members/carol", {"leftAt": LATER}, scopes=TRUSTED)

    assert sorted(message[:2] for message in world.join_messages()) == [("JOIN", "bob"), ("JOIN", "importer")]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"joinedAt": "yesterday"}, "joinedAt"),
        ({"joinedAt": "2025-11-21T10:06:00Z"}, "joinedAt"),
        ({"id": "x"}, "id"),
        ({"joinedAt": OLD, "id": "a#b"}, "id"),
        ({"joinedAt": OLD, "id": "x" * 65}, "id"),
        ({"joinedAt": OLD, "id": "é"}, "id"),
        ({"joinedAt": OLD, "username": "a#b"}, "username"),
    ],
)
def test_input_of_a_trusted_producer_is_also_checked(world: RoomWorld, body: dict[str, Any], field: str) -> None:
    world.ok("importer", "PUT", "channel", GROUP, scopes=TRUSTED)

    status, answer = world.request("importer", "PUT", "channel/members/bob", body, scopes=TRUSTED)

    assert (status, [detail["field"] for detail in answer["error"]["details"]]) == (400, [field])


@pytest.mark.parametrize("name", ["after", "cursor"])
def test_current_members_are_paged(world: RoomWorld, name: str) -> None:
    world.ok("alice", "PUT", "kitchen", GROUP)
    for number in range(9):
        world.bring("alice", "kitchen", f"user-{number}")
    world.clock.advance(1)
    for number in (1, 2, 3, 4, 5):
        world.ok("alice", "DELETE", f"kitchen/members/user-{number}")

    found: list[str] = []
    query: dict[str, str] = {"limit": "2"}
    for _ in range(10):
        page = world.ok("user-0", "GET", "kitchen/members", query=query)
        found += [item["userId"] for item in page["items"]]
        assert len(page["items"]) <= 2
        if not page["hasMore"]:
            break
        query[name] = page["next"]

    assert found == ["alice", "user-0", "user-6", "user-7", "user-8"]


def read_marks(world: RoomWorld, user: str, room: str = "kitchen") -> dict[str, Any]:
    """What the list of members shows to a user as read; ``...`` if it shows nothing."""
    page = world.ok(user, "GET", f"{room}/members", query={"limit": "100"})
    return {item["userId"]: item.get("readTo", ...) for item in page["items"]}


def test_open_and_large_rooms_do_not_show_how_far_members_have_read(world: RoomWorld) -> None:
    world.ok("alice", "PUT", "hall", OPEN)
    world.ok("alice", "PUT", "hall/members/alice")
    assert read_marks(world, "alice", "hall") == {"alice": ...}

    world.ok("alice", "PUT", "kitchen", GROUP)
    for number in range(CHANNEL_MEMBERS - 1):
        world.bring("alice", "kitchen", f"user-{number}")
    assert set(read_marks(world, "alice").values()) == {None}

    world.bring("alice", "kitchen", "one-more")
    assert set(read_marks(world, "alice").values()) == {...}


def test_composed_and_decomposed_ids_are_the_same(world: RoomWorld) -> None:
    world.ok("zoé", "PUT", "cafe\u0301 ☕ 厨房", GROUP)

    (member,) = world.ok("zoé", "GET", "caf\u00e9 ☕ 厨房/members")["items"]
    assert member["userId"] == "zoé"
