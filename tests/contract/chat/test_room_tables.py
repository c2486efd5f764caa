"""One suite for every implementation of rooms and memberships."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from headrace.core.errors import Conflict
from headrace.core.times import Interval, iso
from headrace.runtime.aws import client
from headrace.streams.chat.rooms.dynamodb import Memberships, RoomTable
from headrace.streams.chat.rooms.memberships import (
    EVENT_ID_LIMIT,
    JOINS_LIMIT,
    LEAVES_LIMIT,
    Change,
    EventKind,
    Membership,
    membership_event,
)
from headrace.streams.chat.rooms.retention import AS_STAGE, Retention
from headrace.streams.chat.rooms.rooms import CachedRooms, Room, Rooms
from tests.contract.chat.conftest import MEMBERSHIPS, ROOMS
from tests.fakes.chat import MemoryMemberships, MemoryRooms

T = [iso(1_763_719_258_000_000 + number) for number in range(100)]
KITCHEN = Room("kitchen", "members", "group", T[0], "alice")

Parts = tuple[Rooms, Memberships]


@pytest.fixture(params=["memory", "dynamodb"])
def parts(request: pytest.FixtureRequest) -> Parts:
    if request.param == "memory":
        return MemoryRooms(), MemoryMemberships()
    request.getfixturevalue("tables")
    dynamodb = client("dynamodb")
    return RoomTable(dynamodb, ROOMS), Memberships(dynamodb, MEMBERSHIPS)


def change(kind: EventKind, at: str, event_id: str = "e", **more: Any) -> Change:
    fields = {"user_id": "bob", "room_id": "kitchen", **more}
    return Change(kind=kind, event=membership_event(at, event_id), **fields)


def test_the_first_of_two_creators_decides_the_kind_of_a_room(parts: Parts) -> None:
    rooms, _ = parts
    other = Room("kitchen", "open", "direct", T[1], "mallory")

    assert rooms.get("kitchen") is None
    assert rooms.create(KITCHEN) == KITCHEN
    assert rooms.create(other) == KITCHEN
    assert rooms.get("kitchen") == KITCHEN
    assert rooms.get_many(["kitchen", "cellar", "kitchen"]) == {"kitchen": KITCHEN, "cellar": None}


def test_name_and_topic_change_and_what_a_room_is_stays(parts: Parts) -> None:
    rooms = parts[0]
    named = replace(KITCHEN, name="Kitchen", topic="who cooks?")
    assert rooms.create(named) == named
    assert rooms.get("kitchen") == named

    assert rooms.change("kitchen", {"name": "Küche", "topic": None}) == replace(KITCHEN, name="Küche")
    assert rooms.change("kitchen", {"topic": "dishes"}) == replace(KITCHEN, name="Küche", topic="dishes")
    assert rooms.change("kitchen", {"name": None, "topic": None}) == KITCHEN
    assert rooms.get_many(["kitchen"]) == {"kitchen": KITCHEN}


def test_a_retention_is_changed_only_from_the_one_that_was_read(parts: Parts) -> None:
    rooms, _ = parts
    few, more, gone = Retention(3), Retention(9, T[1]), Retention(None, T[2])
    assert rooms.create(replace(KITCHEN, retention=few)).retention == few
    assert rooms.get("kitchen") == replace(KITCHEN, retention=few)

    for before, after in ((AS_STAGE, more), (Retention(3, T[1]), more), (Retention(4), more)):
        assert rooms.change("kitchen", {"topic": "dishes"}, (before, after)) is None
    assert rooms.get("kitchen") == replace(KITCHEN, retention=few)

    for before, after in ((few, more), (more, gone), (gone, gone)):
        changed = rooms.change("kitchen", {"topic": "dishes"}, (before, after))
        assert changed == rooms.get("kitchen") == replace(KITCHEN, topic="dishes", retention=after)
    assert rooms.change("kitchen", {"topic": None}) == replace(KITCHEN, retention=gone)
    assert rooms.change("nowhere", {"topic": "x"}, (AS_STAGE, few)) is None
    assert rooms.get("nowhere") is None


@pytest.mark.parametrize("key", [3, 6])
def test_the_write_of_the_last_activity_tells_the_retention(parts: Parts, key: int) -> None:
    rooms, _ = parts
    rooms.create(replace(KITCHEN, retention=Retention(3)))
    rooms.raise_to("kitchen", T[5])

    assert rooms.raise_to("kitchen", T[key]) == Retention(3)


def test_a_direct_room_has_two_permanent_seats(parts: Parts) -> None:
    rooms, _ = parts
    rooms.create(KITCHEN)

    for user in ("alice", "bob", "bob", "alice"):
        rooms.take_seat("kitchen", user)
    with pytest.raises(Conflict, match="both seats are taken"):
        rooms.take_seat("kitchen", "carol")
    assert rooms.get("kitchen") == KITCHEN
    rooms.delete("kitchen", T[1])
    with pytest.raises(Conflict, match="a room that was deleted has this id"):
        rooms.take_seat("kitchen", "bob")


def test_a_membership_knows_who_added_its_user_until_the_user_joins(parts: Parts) -> None:
    _, memberships = parts

    assert memberships.add(change("join", T[1], added_by="mallory")).added_by == "mallory"
    assert memberships.add(change("leave", T[2], added_by="alice")).added_by == "mallory"
    assert memberships.get("bob", "kitchen").added_by == "mallory"
    assert memberships.add(change("join", T[3])).added_by is None


def test_repeated_and_reordered_joins_and_leaves_give_the_same_intervals(parts: Parts) -> None:
    """P8."""
    _, memberships = parts
    changes = [change("leave", T[5]), change("join", T[7]), change("join", T[2]), change("join", T[2])]

    for each in changes:
        after = memberships.add(each)

    assert after.intervals == (Interval(T[2], T[5]), Interval(T[7], None))
    assert memberships.get("bob", "kitchen") == after


def test_a_change_returns_the_membership_with_earlier_changes(parts: Parts) -> None:
    _, memberships = parts

    joined = memberships.add(change("join", T[2], role="owner", username="Bob"))
    left = memberships.add(change("leave", T[4]))

    assert (joined.role, joined.username, joined.is_open) == ("owner", "Bob", True)
    assert (left.role, left.username, left.is_open) == ("member", "Bob", False)
    assert left.joins == joined.joins
    assert memberships.set_role("bob", "kitchen", "owner").role == "owner"
    assert memberships.add(change("join", T[6])).role == "owner", "a role that is not named stays"


def test_several_memberships_are_read_at_once_and_a_missing_one_is_empty(parts: Parts) -> None:
    _, memberships = parts
    memberships.add(change("join", T[2]))
    pairs = [("bob", "kitchen"), ("carol", "kitchen"), ("bob", "kitchen")]
    pairs += [("bob", f"room-{number}") for number in range(150)]

    found = memberships.get_many(pairs)

    assert len(found) == 152
    assert [pair for pair, membership in found.items() if membership.is_open] == [("bob", "kitchen")]


def test_the_users_of_a_room_are_paged_in_order(parts: Parts) -> None:
    _, memberships = parts
    for user in ("dora", "bob", "Ærø", "carol", "alice"):
        memberships.add(change("join", T[2], user_id=user))
    memberships.add(change("join", T[2], user_id="eve", room_id="cellar"))

    first, more = memberships.users_of("kitchen", None, 3)
    rest, _ = memberships.users_of("kitchen", first[-1], 10)

    assert (first, more) == (["alice", "bob", "carol"], True)
    assert rest == ["dora", "Ærø"]


def test_a_full_membership_forgets_its_oldest_closed_interval(parts: Parts) -> None:
    _, memberships = parts
    widest = "x" * (EVENT_ID_LIMIT - 4)
    kinds: list[tuple[EventKind, int]] = [("join", 0), ("leave", 1)]
    times = [iso(1_763_719_258_000_000 + number) for number in range(2 * JOINS_LIMIT + 1)]
    events = {
        kind: [f"{times[2 * number + at]}#{widest}{number:04d}" for number in range(JOINS_LIMIT)] for kind, at in kinds
    }
    if isinstance(memberships, Memberships):
        # One by one would take half a minute.
        row = {"userId": {"S": "bob"}, "roomId": {"S": "kitchen"}}
        row |= {f"{kind}s": {"SS": found} for kind, found in events.items()}  # type: ignore[dict-item]
        memberships._table.call(memberships._table.client.put_item, TableName=MEMBERSHIPS, Item=row)
    else:
        memberships.rows["bob", "kitchen"] = Membership(  # type: ignore[attr-defined]
            "bob", "kitchen", frozenset(events["join"]), frozenset(events["leave"])
        )

    found = memberships.add(change("join", times[-1], "one-more"))

    assert len(found.joins) == JOINS_LIMIT
    assert found.intervals[0] == Interval(times[2], times[3])
    assert found.intervals[-1] == Interval(times[-1], None)


def test_a_full_set_of_leaves_that_change_nothing_takes_another_one(parts: Parts) -> None:
    _, memberships = parts
    leaves = [f"{T[0]}#{number:04d}" for number in range(LEAVES_LIMIT)]
    if isinstance(memberships, Memberships):
        row = {"userId": {"S": "bob"}, "roomId": {"S": "kitchen"}, "leaves": {"SS": leaves}}
        memberships._table.call(memberships._table.client.put_item, TableName=MEMBERSHIPS, Item=row)
    else:
        memberships.rows["bob", "kitchen"] = Membership(  # type: ignore[attr-defined]
            "bob", "kitchen", leaves=frozenset(leaves)
        )
    memberships.add(change("join", T[1]))

    assert memberships.add(change("leave", T[2])).intervals == (Interval(T[1], T[2]),)


def test_a_users_newest_rooms_are_listed_up_to_a_limit_those_they_are_in_first(parts: Parts) -> None:
    _, memberships = parts
    for number, room in enumerate(("kitchen", "attic", "cellar", "hall")):
        memberships.add(change("join", T[number], room_id=room))
    memberships.add(change("leave", T[9], room_id="hall"))
    memberships.add(change("join", T[2], user_id="bobby"))

    found, more = memberships.rooms_of("bob", 3)

    assert ([each.room_id for each in found], more) == (["cellar", "attic", "kitchen"], True)
    assert found[2] == memberships.get("bob", "kitchen")
    found, more = memberships.rooms_of("bob", 4)
    assert (found[3].room_id, more) == ("hall", False)
    assert memberships.rooms_of("stranger", 4) == ([], False)
    assert (memberships.is_known("bob"), memberships.is_known("stranger")) == (True, False)


def test_a_room_left_for_good_is_in_no_list_until_the_user_joins_again(parts: Parts) -> None:
    _, memberships = parts
    memberships.add(change("join", T[1]))
    memberships.add(change("leave", T[2]))

    memberships.leave_for_good("bob", "kitchen")
    memberships.leave_for_good("bob", "attic")

    assert memberships.rooms_of("bob", 9) == ([], False)
    assert memberships.get("bob", "kitchen").left_for_good
    assert memberships.get("bob", "kitchen").intervals == (Interval(T[1], T[2]),)
    assert not memberships.add(change("join", T[3])).left_for_good
    assert len(memberships.rooms_of("bob", 9)[0]) == 1


def test_memberships_beyond_one_page_of_the_table_are_found(parts: Parts) -> None:
    _, memberships = parts
    joins = frozenset(f"{T[3]}#{number:064d}" for number in range(1000))
    for number in range(15):
        room_id = f"room-{number:02d}"
        if isinstance(memberships, Memberships):
            row = {"userId": {"S": "bob"}, "roomId": {"S": room_id}, "joins": {"SS": sorted(joins)}}
            memberships._table.call(memberships._table.client.put_item, TableName=MEMBERSHIPS, Item=row)
        else:
            assert isinstance(memberships, MemoryMemberships)
            memberships.rows["bob", room_id] = Membership("bob", room_id, joins)

    found, more = memberships.rooms_of("bob", 14)

    assert ([each.room_id for each in found], more) == ([f"room-{number:02d}" for number in range(14)], True)
    assert all(each.joins == joins for each in found)


def test_a_read_mark_only_moves_forward_and_needs_a_membership(parts: Parts) -> None:
    _, memberships = parts
    assert not memberships.mark_read("bob", "kitchen", T[3])
    before = memberships.add(change("join", T[2], username="Bob"))

    assert [memberships.mark_read("bob", "kitchen", T[number]) for number in (5, 4, 5, 6)] == [True, False, False, True]

    assert memberships.get("bob", "kitchen") == replace(before, read_to=T[6])
    assert memberships.add(change("leave", T[7])).read_to == T[6]
    assert not memberships.get("carol", "kitchen").joins


def test_last_activity_only_moves_forward_and_creates_no_room(parts: Parts) -> None:
    rooms, _ = parts
    assert rooms.raise_to("kitchen", T[5]) is None
    rooms.create(KITCHEN)
    for number in range(150):
        rooms.create(Room(f"room-{number}", "open", "group", T[0], "alice"))
    read = [(rooms.raise_to("kitchen", T[at]), rooms.get("kitchen").last_key) for at in (5, 4, 5, 6)]
    assert read == [(AS_STAGE, T[5]), (AS_STAGE, T[5]), (AS_STAGE, T[5]), (AS_STAGE, T[6])]

    found = rooms.get_many(["kitchen", "nowhere", "kitchen", *(f"room-{number}" for number in range(150))])
    assert (found["kitchen"], found["nowhere"], len(found)) == (replace(KITCHEN, last_key=T[6]), None, 152)
    assert (rooms.get("kitchen"), rooms.get("nowhere"), rooms.get_many([])) == (found["kitchen"], None, {})


def test_a_room_is_read_once_and_a_missing_one_every_time() -> None:
    rooms = MemoryRooms()
    remembered = CachedRooms(rooms, limit=2)

    assert [remembered.get("kitchen"), remembered.get("kitchen")] == [None, None]
    assert rooms.reads == 2
    rooms.create(KITCHEN)
    assert {remembered.get("kitchen") for _ in range(5)} == {KITCHEN}
    assert rooms.reads == 4
    assert remembered.get_many(["kitchen", "cellar"]) == {"kitchen": KITCHEN, "cellar": None}
