"""P1 and P12 together: while the tables are unavailable everything is accepted, but only members write."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.api.error_bodies import Result
from headrace.core.errors import Forbidden, InvalidEvent, NotFound, PoisonRecord, StoreUnavailable
from headrace.core.items import expires_at
from headrace.core.keys import direct_room
from headrace.core.times import iso
from headrace.delivery.acceptor import Acceptor
from headrace.runtime.observability import Meter
from headrace.streams.chat.messages.check import MessageCheck
from headrace.streams.chat.messages.positions import STORED_AT, UNLOGGED
from headrace.streams.chat.rooms.memberships import Change, membership_event
from headrace.streams.chat.rooms.rooms import CachedRooms, Room
from headrace.streams.chat.stream import UNCHECKED
from tests.fakes.chat import MemoryRooms
from tests.fakes.live import MemoryRoomLog
from tests.fakes.storage import MemoryCache
from tests.worlds.room_world import GROUP, OPEN, RoomWorld, caller
from tests.worlds.senders import CHAT, NOW, TABLE, message, sender
from tests.worlds.write_path import MESSAGES, QUEUES

WHO = (("bob", "kitchen"), ("carol", "kitchen"), ("dora", "hall"), ("eve", "new"))


@pytest.fixture
def world() -> RoomWorld:
    found = RoomWorld()
    found.add_rooms()
    return found


def send(world: RoomWorld, user: str, *raws: dict[str, Any], scopes: tuple[str, ...] = ()) -> list[Result]:
    acceptor = Acceptor(world.write_path.broker, world.write_path.retry, QUEUES, world.clock, world.gates)
    return acceptor.accept(CHAT, caller(user, *scopes), raws, "c-1", Meter())


def fate(result: Result) -> object:
    return result.lane if result.error is None else type(result.error)


def set_tables(world: RoomWorld, down: bool = True) -> None:
    world.rooms.down = world.memberships.down = down


def persisted(world: RoomWorld, *message_ids: str) -> list[object]:
    """The result of storing each published message."""
    events = {each["messageId"]: each for each in world.write_path.published() if each["messageType"] == "TEXT"}
    rows = [CHAT.item(events[message_id], world.clock.now(), TABLE) for message_id in message_ids]
    outcomes = world.check.before_store(rows)
    world.write_path.store.put_many(MESSAGES, [row for row, why in zip(rows, outcomes, strict=True) if why is None])
    return [each.reason if isinstance(each, PoisonRecord) else each and type(each) for each in outcomes]


def test_members_write_to_a_members_room_and_others_are_refused_per_event(world: RoomWorld) -> None:
    """P12."""
    batch = [message(roomId=room, messageId=f"m-{number}") for number, room in enumerate(("kitchen", "hall", "new"))]

    assert [fate(each) for each in send(world, "bob", *batch)] == ["main"] * 3
    assert [fate(each) for each in send(world, "carol", *batch)] == [Forbidden, "main", "main"]
    (refused, *_) = send(world, "carol", *batch)
    assert refused.error is not None
    assert [detail.field for detail in refused.error.details] == ["roomId"]
    assert ("carol", "kitchen") not in {(each["userId"], each["roomId"]) for each in world.write_path.published()}


def test_an_open_room_created_by_a_message_stays_open(world: RoomWorld) -> None:
    """P12: a later request cannot turn the open room into a members room."""
    send(world, "bob", message(roomId="new"))

    assert world.rooms.rows["new"] == Room("new", "open", "group", NOW, "bob")
    assert world.request("mallory", "PUT", "new", GROUP)[0] == 409
    assert world.ok("carol", "PUT", "new", OPEN)["createdBy"] == "bob"


def test_without_rooms_by_first_message_only_producers_create_rooms_by_one(world: RoomWorld) -> None:
    world.gate = world.new_gate(by_first_message=False)

    assert [fate(each) for each in send(world, "bob", message(roomId="hall"), message(roomId="new"))] == [
        "main",
        NotFound,
    ]
    assert fate(*send(world, "bot", message(roomId="new"), scopes=("events:write",))) == "main"
    assert fate(*send(world, "bob", message(roomId="new"))) == "main"


def test_no_message_creates_a_direct_room(world: RoomWorld) -> None:
    """P12: a room by a first message is open, and everyone could read what two users say in it."""
    room = direct_room("alice", "bob")

    assert fate(*send(world, "mallory", message(roomId=room))) is Forbidden
    assert fate(*send(world, "bot", message(roomId=room, userId="alice"), scopes=("events:write",))) is NotFound
    world.ok("alice", "PUT", "alice/direct/bob")
    assert fate(*send(world, "mallory", message(roomId=room))) is Forbidden
    world.ok("bob", "PUT", "bob/direct/alice")
    assert fate(*send(world, "bob", message(roomId=room))) == "main"


@pytest.mark.parametrize("scope", ["chat:write", "events:write"])
def test_no_message_creates_a_room_with_shards(world: RoomWorld, scope: str) -> None:
    """Each of its pages costs more, so a user asks for it with ``PUT /rooms/{roomId}``."""
    (refused,) = send(world, "bob", message(roomId="stadium~8"), scopes=(scope,))

    assert isinstance(refused.error, NotFound)
    (detail,) = refused.error.details
    assert (detail.field, detail.allowed) == ("roomId", "a room that was created; no message creates one with shards")
    assert "stadium~8" not in world.rooms.rows
    world.ok("bob", "PUT", "stadium~8", {"kind": "open"})
    assert fate(*send(world, "bob", message(roomId="stadium~8"), scopes=(scope,))) == "main"


def test_only_a_room_that_was_stored_has_an_id_that_nobody_sees(world: RoomWorld) -> None:
    for room in ("\u202eecilA", "\u200b"):
        (refused,) = send(world, "bob", message(roomId=room))
        assert isinstance(refused.error, NotFound)
        status, answer = world.request("bob", "PUT", room, OPEN)
        assert (status, answer["error"]["details"][0]["field"]) == (400, "roomId")
        world.rooms.rows[room] = Room(room, "open", "group", NOW, "bob")
        assert fate(*send(world, "bob", message(roomId=room))) == "main"
        assert world.ok("bob", "PUT", room, OPEN)["roomId"] == room


@pytest.mark.parametrize(
    ("room", "by_first_message", "expected"),
    [
        ("new", True, None),
        ("new", False, "not_allowed"),
        (direct_room("alice", "bob"), True, "not_allowed"),
        ("stadium~8", True, "not_allowed"),
    ],
)
def test_an_unchecked_message_creates_only_the_rooms_that_it_may(
    world: RoomWorld, room: str, by_first_message: bool, expected: str | None
) -> None:
    world.check = MessageCheck(world.rooms, world.memberships, world.clock, by_first_message=by_first_message)
    set_tables(world)
    assert fate(*send(world, "bob", message(roomId=room))) == "main"
    set_tables(world, down=False)

    assert persisted(world, "m-1") == [expected]
    assert (room in world.rooms.rows) == (expected is None)


@pytest.mark.parametrize("is_down", [False, True])
def test_a_message_is_marked_before_storing_while_the_logs_are_unavailable(world: RoomWorld, is_down: bool) -> None:
    """So it is not stored twice."""
    cache = MemoryCache(world.clock)
    cache.down = is_down
    check = MessageCheck(world.rooms, world.memberships, world.clock, MemoryRoomLog(cache))
    fresh = CHAT.item(CHAT.accept(message(), sender()).event, world.clock.now(), TABLE)

    assert check.before_store([fresh]) == [None]

    assert fresh.get(STORED_AT) == (iso(world.clock.now() + UNLOGGED) if is_down else None)


def test_without_tables_messages_are_accepted_and_checked_before_storage(world: RoomWorld) -> None:
    """P1, P12."""
    set_tables(world)
    sent = [send(world, user, message(messageId=user, roomId=room)) for user, room in WHO]
    set_tables(world, down=False)

    assert [fate(*each) for each in sent] == ["main"] * len(WHO)
    assert persisted(world, *[user for user, _ in WHO]) == [None, "not_allowed", None, None]
    assert {(row["userId"], row["roomId"]) for row in world.write_path.rows()} == {
        ("bob", "kitchen"),
        ("dora", "hall"),
        ("eve", "new"),
    }
    assert world.rooms.rows["new"].kind == "open"
    assert not any(UNCHECKED in row for row in world.write_path.rows())


def test_a_room_known_to_be_open_is_not_checked_again_while_the_tables_are_down(world: RoomWorld) -> None:
    send(world, "bob", message(roomId="hall"))
    set_tables(world)

    send(world, "bob", message(roomId="hall", messageId="m-2"))

    assert UNCHECKED not in world.write_path.published()[-1]


def test_unavailable_tables_are_not_called_by_every_request(world: RoomWorld) -> None:
    set_tables(world)
    world.rooms.reads = 0
    for number in range(20):
        send(world, "bob", message(messageId=f"m-{number}"))
    assert world.rooms.reads == 1

    set_tables(world, down=False)
    world.gate_time += 5
    assert fate(*send(world, "carol", message())) is Forbidden


def test_a_right_that_still_cannot_be_checked_keeps_the_message_in_the_lanes(world: RoomWorld) -> None:
    """P1."""
    set_tables(world)
    send(world, "bob", message(messageId="bob"))

    assert persisted(world, "bob") == [StoreUnavailable]
    assert world.write_path.rows() == []
    set_tables(world, down=False)
    assert persisted(world, "bob") == [None]


def test_membership_at_the_time_of_acceptance_decides(world: RoomWorld) -> None:
    world.gate = world.new_gate()
    world.clock.advance(10)
    set_tables(world)
    send(world, "bob", message(messageId="in time"))
    set_tables(world, down=False)
    world.clock.advance(1)
    world.ok("alice", "DELETE", "kitchen/members/bob")
    world.clock.advance(1)
    set_tables(world)
    world.gate = world.new_gate()
    send(world, "bob", message(messageId="too late"))
    set_tables(world, down=False)
    world.clock.advance(10)
    world.bring("alice", "kitchen", "bob")

    assert persisted(world, "in time", "too late") == [None, "not_allowed"]


def test_a_join_by_a_clock_ahead_covers_what_was_accepted_by_a_clock_behind(world: RoomWorld) -> None:
    ahead = iso(world.clock.now() + 200_000)
    world.memberships.add(Change(user_id="carol", room_id="kitchen", kind="join", event=membership_event(ahead, "e")))
    set_tables(world)
    send(world, "carol", message(messageId="carol"))
    set_tables(world, down=False)

    assert persisted(world, "carol") == [None]


def test_slow_tables_delay_a_request_no_longer_than_its_time_for_checks(world: RoomWorld) -> None:
    class Slow(MemoryRooms):
        def create(self, room: Room) -> Room:
            world.gate_time += 0.2
            return super().create(room)

    rooms = Slow()
    world.gate = type(world.gate)(CachedRooms(rooms), world.memberships, lambda: world.gate_time)

    sent = send(world, "bob", *[message(roomId=f"new-{number}", messageId=f"m-{number}") for number in range(10)])

    assert {fate(each) for each in sent} == {"main"}
    assert len(rooms.rows) == 3
    assert sum(UNCHECKED in each for each in world.write_path.published()) == 7


def test_a_client_cannot_mark_its_own_message(world: RoomWorld) -> None:
    send(world, "bob", message(roomId="hall", uncheckedAt=NOW, unchecked_at=NOW))

    assert UNCHECKED not in world.write_path.published()[-1]


def test_a_pending_check_may_have_any_time(world: RoomWorld) -> None:
    """P5: a record in a lane may come from any publisher."""
    send(world, "bob", message())
    event = world.write_path.published()[-1]
    last = "9999-12-31T23:59:59.999999Z"

    row = CHAT.item(event | {"timestamp": last, UNCHECKED: last}, 0, TABLE)

    assert world.check.before_store([row]) == [None]


@pytest.mark.parametrize("kind", ["JOIN", "LEAVE"])
def test_only_joining_and_leaving_writes_joins_and_leaves_into_a_history(world: RoomWorld, kind: str) -> None:
    """P12."""
    (refused,) = send(world, "bob", message(messageType=kind))
    (taken,) = send(world, "bot", message(messageType=kind), scopes=("events:write",))

    assert isinstance(refused.error, InvalidEvent)
    assert [detail.field for detail in refused.error.details] == ["messageType"]
    assert fate(taken) == "main"


@pytest.mark.parametrize(
    ("timestamp", "expected"),
    [
        ("2025-11-21T09:56:00.000000Z", NOW),  # before the first join, by a clock behind
        ("2025-11-21T09:55:00.000000Z", None),  # long before it
        ("2025-11-21T10:30:00.000000Z", "2025-11-21T10:30:00.000000Z"),  # sent late from an outbox
        ("2025-11-21T11:04:00.000000Z", None),  # after the leave, as a clock ahead may have sent before it
        ("2025-11-21T12:00:00.000000Z", None),  # between two intervals
        ("2025-11-21T12:56:00.000000Z", "2025-11-21T13:00:58.722861Z"),  # before the second join, by a clock behind
        ("2025-11-21T13:00:59.000000Z", "2025-11-21T13:00:59.000000Z"),
    ],
)
@pytest.mark.parametrize("tables_are_down", [False, True])
def test_a_message_has_a_time_at_which_its_sender_was_in_the_room(
    world: RoomWorld, timestamp: str, expected: str | None, tables_are_down: bool
) -> None:
    """P12, and P1: the sender and everyone who was there at that time can read it."""
    world.clock.advance(3600)
    world.ok("alice", "DELETE", "kitchen/members/alice")
    world.clock.advance(7200)
    world.ok("alice", "PUT", "kitchen/members/alice")
    set_tables(world, tables_are_down)

    (result,) = send(world, "alice", message(timestamp=timestamp))
    set_tables(world, down=False)

    if expected is not None:
        assert result.receipt["timestamp"] == (timestamp if tables_are_down else expected)
        assert persisted(world, "m-1") == [None]
        (row,) = world.write_path.rows()
        times = row["timestamp"], row["timestampSk"][:27], row["expiresAt"]
        assert times == (expected, expected, expires_at(expected, 0, TABLE.retention_days))
    elif tables_are_down:
        assert persisted(world, "m-1") == ["not_allowed"]
    else:
        assert isinstance(result.error, Forbidden)
        assert [detail.field for detail in result.error.details] == ["timestamp"]
