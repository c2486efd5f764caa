"""Creating rooms, joining and leaving, as manage_rooms answers."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.core.errors import ConnectionLost
from headrace.core.intervals import Interval
from headrace.core.times import iso, parse_iso
from tests.fakes.clock import FixedClock
from tests.worlds.room_world import DIRECT, GROUP, LATER, OLD, OPEN, TRUSTED, Keepers
from tests.worlds.senders import NOW


@pytest.fixture
def keepers() -> Keepers:
    return Keepers()


def test_the_creator_of_a_members_room_owns_it_and_is_in_it_with_the_same_request(keepers: Keepers) -> None:
    body = keepers.ok("alice", "PUT", "kitchen", GROUP)

    assert body == {"roomId": "kitchen", "kind": "members", "form": "group", "createdAt": NOW, "createdBy": "alice"}
    (member,) = keepers.ok("alice", "GET", "kitchen/members")["items"]
    assert member == {"userId": "alice", "username": "Alice", "role": "owner", "joinedAt": NOW}
    assert keepers.stories() == [("JOIN", "alice", NOW)]


def test_creating_a_room_again_as_it_is_changes_nothing_and_as_another_is_refused(keepers: Keepers) -> None:
    """P3."""
    first = keepers.ok("alice", "PUT", "kitchen", GROUP)
    keepers.clock.advance(60)

    assert keepers.ok("alice", "PUT", "kitchen", GROUP) == first
    for user, body in (("alice", OPEN), ("alice", DIRECT), ("bob", GROUP)):
        status, answer = keepers.ask(user, "PUT", "kitchen", body)
        assert (status, answer["error"]["code"]) == (409, "conflict")
    assert keepers.row("alice").intervals == (Interval(NOW, None),)
    assert not keepers.row("bob").joins
    assert keepers.stories() == [("JOIN", "alice", NOW)]


def test_an_open_room_is_everybodys_to_name(keepers: Keepers) -> None:
    first = keepers.ok("alice", "PUT", "kitchen", OPEN)

    assert keepers.ok("bob", "PUT", "kitchen", OPEN) == first
    assert keepers.stories() == []


def test_a_creation_that_was_cut_in_the_middle_is_healed_by_repeating_it(keepers: Keepers) -> None:
    keepers.memberships.down = True
    assert keepers.ask("alice", "PUT", "kitchen", GROUP)[0] == 503
    keepers.memberships.down = False
    keepers.clock.advance(30)

    body = keepers.ok("alice", "PUT", "kitchen", GROUP)

    assert keepers.row("alice").intervals == (Interval(body["createdAt"], None),)


def test_a_repeated_creation_does_not_bring_back_a_creator_who_has_left(keepers: Keepers) -> None:
    keepers.ok("alice", "PUT", "kitchen", GROUP)
    keepers.clock.advance(5)
    keepers.ok("alice", "DELETE", "kitchen/members/alice")

    keepers.ok("alice", "PUT", "kitchen", GROUP)

    assert not keepers.row("alice").is_open


def test_people_join_leave_and_join_again_and_the_history_tells_of_it(keepers: Keepers) -> None:
    keepers.ok("alice", "PUT", "kitchen", OPEN)
    times = []
    for method in ("PUT", "DELETE", "PUT"):
        keepers.clock.advance(1)
        times.append(iso(keepers.clock.now()))
        body = keepers.ok("bob", method, "kitchen/members/bob")

    assert body == {
        "roomId": "kitchen",
        "userId": "bob",
        "username": "Bob",
        "role": "member",
        "joinedAt": times[2],
        "leftAt": None,
    }
    assert keepers.row("bob").intervals == (Interval(times[0], times[1]), Interval(times[2], None))
    assert keepers.stories() == [("JOIN", "bob", times[0]), ("LEAVE", "bob", times[1]), ("JOIN", "bob", times[2])]


def test_joining_or_leaving_twice_changes_nothing_and_its_message_is_the_same_one(keepers: Keepers) -> None:
    """P3."""
    keepers.ok("alice", "PUT", "kitchen", OPEN)
    for method in ("PUT", "DELETE"):
        first = keepers.ok("bob", method, "kitchen/members/bob")
        sent = keepers.lanes.published()[-1]
        keepers.clock.advance(10)

        assert keepers.ok("bob", method, "kitchen/members/bob") == first
        assert keepers.lanes.published()[-1] == sent
        keepers.clock.advance(600)
        before = len(keepers.lanes.published())
        assert keepers.ok("bob", method, "kitchen/members/bob") == first
        assert len(keepers.lanes.published()) == before, "an old one is not published again"
    assert len(keepers.row("bob").joins) == len(keepers.row("bob").leaves) == 1


def test_a_message_that_neither_lane_took_is_told_by_the_same_request_again(keepers: Keepers) -> None:
    """P2: the answer is unavailable, the membership is in force, and repeating the request heals the history."""
    keepers.ok("alice", "PUT", "kitchen", OPEN)
    keepers.lanes.broker.fail_next(ConnectionLost("no"))
    keepers.lanes.retry.down = True
    status, body = keepers.ask("bob", "PUT", "kitchen/members/bob")
    keepers.lanes.retry.down = False

    assert (status, body["error"]["code"]) == (503, "unavailable")
    assert keepers.row("bob").is_open
    keepers.clock.advance(20)
    keepers.ok("bob", "PUT", "kitchen/members/bob")
    assert keepers.stories() == [("JOIN", "bob", NOW)]


@pytest.mark.parametrize("behind", [0, 0.25, 3600])
def test_a_leave_is_in_force_when_it_is_answered_whatever_clock_its_environment_has(
    keepers: Keepers, behind: float
) -> None:
    """P12: a join by a clock ahead must not outlive the leave that came after it."""
    slow = FixedClock(keepers.clock.now())
    slow.advance(-behind)
    other = keepers.environment(slow)
    keepers.ok("alice", "PUT", "kitchen", OPEN)

    for _ in range(3):
        joined = keepers.ok("bob", "PUT", "kitchen/members/bob")
        assert keepers.row("bob").is_open
        left = keepers.ok("bob", "DELETE", "kitchen/members/bob", routes=other)
        assert not keepers.row("bob").is_open
        assert parse_iso(left["leftAt"]) == parse_iso(joined["joinedAt"]) + 1
        assert keepers.ok("bob", "PUT", "kitchen/members/bob", routes=other)["leftAt"] is None
        assert keepers.row("bob").is_open
        keepers.ok("bob", "DELETE", "kitchen/members/bob")


def test_a_trusted_producer_imports_rooms_and_intervals_of_any_age_in_any_order(keepers: Keepers) -> None:
    """P8: late, repeated and reordered joins and leaves give the same intervals."""
    room = {"kind": "members", "createdBy": "zoe", "createdAt": OLD}
    for _ in range(2):
        keepers.ok("importer", "PUT", "channel", room, scopes=TRUSTED)
        keepers.ok("importer", "DELETE", "channel/members/bob", {"leftAt": LATER, "id": "l-1"}, scopes=TRUSTED)
        body = {"joinedAt": OLD, "id": "j-1", "username": "Bobby"}
        answer = keepers.ok("importer", "PUT", "channel/members/bob", body, scopes=TRUSTED)

    assert answer["username"] == "Bobby"
    assert keepers.row("bob", "channel").intervals == (Interval(OLD, LATER),)
    assert keepers.row("zoe", "channel").intervals == (Interval(OLD, None),)
    assert not keepers.row("importer", "channel").joins
    assert ("JOIN", "bob", OLD) in keepers.stories()
    assert {each["messageId"] for each in keepers.lanes.published() if each["userId"] == "bob"} >= {"j-1"}


def test_nothing_is_told_of_a_join_or_leave_that_adds_nothing(keepers: Keepers) -> None:
    keepers.ok("importer", "PUT", "channel", {"kind": "members", "createdAt": OLD}, scopes=TRUSTED)
    keepers.ok("importer", "PUT", "channel/members/bob", {"joinedAt": OLD}, scopes=TRUSTED)
    keepers.ok("importer", "PUT", "channel/members/bob", {"joinedAt": LATER}, scopes=TRUSTED)
    keepers.ok("importer", "DELETE", "channel/members/carol", {"leftAt": LATER}, scopes=TRUSTED)

    assert sorted(story[:2] for story in keepers.stories()) == [("JOIN", "bob"), ("JOIN", "importer")]


@pytest.mark.parametrize(
    ("user", "method", "path", "body", "status", "field"),
    [
        ("bob", "PUT", "nowhere/members/bob", None, 404, "roomId"),
        ("bob", "DELETE", "nowhere/members/bob", None, 404, "roomId"),
        ("bob", "DELETE", "hall/members/bob", None, 404, "userId"),
        ("alice", "DELETE", "kitchen/members/bob", None, 404, "userId"),
        ("alice", "PUT", "kitchen/members/b#b", None, 400, "userId"),
        ("alice", "PUT", "a#b", {"kind": "open"}, 400, "roomId"),
        ("alice", "PUT", "x" * 129, {"kind": "open"}, 400, "roomId"),
        ("alice", "PUT", "cellar", None, 400, None),
        ("alice", "PUT", "cellar", "[]", 400, "body"),
        ("alice", "PUT", "cellar", "{", 400, None),
        ("alice", "PUT", "cellar", {}, 400, "kind"),
        ("alice", "PUT", "cellar", {"kind": "secret"}, 400, "kind"),
        ("alice", "PUT", "cellar", {"kind": ["open"]}, 400, "kind"),
        ("alice", "PUT", "cellar", {"kind": "open", "form": 2}, 400, "form"),
        ("alice", "PUT", "kitchen/members/bob", {"role": "king"}, 400, "role"),
        ("alice", "PUT", "kitchen/members/bob", "null", 400, "body"),
    ],
)
def test_bad_input_is_refused_with_the_field_it_is_in(
    keepers: Keepers, user: str, method: str, path: str, body: Any, status: int, field: str | None
) -> None:
    keepers.ok("alice", "PUT", "kitchen", GROUP)
    keepers.ok("alice", "PUT", "hall", OPEN)

    found, answer = keepers.ask(user, method, path, body)

    assert found == status, answer
    assert [detail["field"] for detail in answer["error"]["details"]][:1] == ([field] if field else [])


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
def test_what_a_trusted_producer_gives_is_checked_too(keepers: Keepers, body: dict[str, Any], field: str) -> None:
    keepers.ok("importer", "PUT", "channel", GROUP, scopes=TRUSTED)

    status, answer = keepers.ask("importer", "PUT", "channel/members/bob", body, scopes=TRUSTED)

    assert (status, [detail["field"] for detail in answer["error"]["details"]]) == (400, [field])


def test_members_come_in_pages_without_those_who_left(keepers: Keepers) -> None:
    keepers.ok("alice", "PUT", "kitchen", GROUP)
    for number in range(9):
        keepers.ok("alice", "PUT", f"kitchen/members/user-{number}")
    keepers.clock.advance(1)
    for number in (1, 2, 3, 4, 5):
        keepers.ok("alice", "DELETE", f"kitchen/members/user-{number}")

    found: list[str] = []
    query: dict[str, str] = {"limit": "2"}
    for _ in range(10):
        page = keepers.ok("user-0", "GET", "kitchen/members", query=query)
        found += [item["userId"] for item in page["items"]]
        assert len(page["items"]) <= 2
        if not page["hasMore"]:
            break
        query["after"] = page["next"]

    assert found == ["alice", "user-0", "user-6", "user-7", "user-8"]


@pytest.mark.parametrize(
    "query", [{"limit": "0"}, {"limit": "-1"}, {"limit": "10000"}, {"before": "x"}, {"after": "x"}]
)
def test_a_page_of_members_that_cannot_be_is_a_400(keepers: Keepers, query: dict[str, str]) -> None:
    keepers.ok("alice", "PUT", "kitchen", OPEN)

    assert keepers.ask("alice", "GET", "kitchen/members", query=query)[0] == 400


def test_ids_of_any_script_are_one_id_however_they_are_composed(keepers: Keepers) -> None:
    keepers.ok("zoé", "PUT", "cafe\u0301 ☕ 厨房", GROUP)

    (member,) = keepers.ok("zoé", "GET", "caf\u00e9 ☕ 厨房/members")["items"]
    assert member["userId"] == "zoé"


def test_while_the_tables_are_away_nothing_is_changed_and_the_answer_says_so(keepers: Keepers) -> None:
    keepers.ok("alice", "PUT", "kitchen", GROUP)
    keepers.memberships.down = True

    for method, path in (
        ("PUT", "kitchen/members/bob"),
        ("DELETE", "kitchen/members/alice"),
        ("GET", "kitchen/members"),
    ):
        status, answer = keepers.ask("alice", method, path)
        assert (status, answer["error"]["code"]) == (503, "unavailable")
