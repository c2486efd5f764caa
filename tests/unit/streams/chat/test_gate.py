"""P1 and P12 together: while the tables are unavailable everything is accepted, but only members write."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.core.errors import Forbidden, InvalidEvent, PoisonRecord, StoreUnavailable
from headrace.core.keys import membership_event
from headrace.core.times import iso
from headrace.ingest.acceptor import Acceptor, Result
from headrace.runtime.observability import Meter
from headrace.storage.ports import Table
from headrace.streams.chat.gate import CheckedStore
from headrace.streams.chat.memberships import Change
from headrace.streams.chat.rooms import CachedRooms, Room
from headrace.streams.chat.stream import CHAT, UNCHECKED, item
from tests.fakes.chat import MemoryRooms
from tests.worlds.room_world import GROUP, OPEN, Keepers, caller
from tests.worlds.senders import NOW, TABLE, message
from tests.worlds.write_path import QUEUES

WHO = (("bob", "kitchen"), ("carol", "kitchen"), ("dora", "hall"), ("eve", "new"))
MESSAGES = Table(TABLE.table, ("roomId", "timestampSk"))


@pytest.fixture
def keepers() -> Keepers:
    found = Keepers()
    found.ok("alice", "PUT", "kitchen", GROUP)
    found.ok("alice", "PUT", "kitchen/members/bob")
    found.ok("alice", "PUT", "hall", OPEN)
    return found


def send(keepers: Keepers, user: str, *raws: dict[str, Any], scopes: tuple[str, ...] = ()) -> list[Result]:
    acceptor = Acceptor(keepers.lanes.broker, keepers.lanes.retry, QUEUES, keepers.clock, {"chat": keepers.gate})
    return acceptor.accept(CHAT, caller(user, *scopes), raws, "c-1", Meter())


def fate(result: Result) -> object:
    return result.lane if result.error is None else type(result.error)


def away(keepers: Keepers, down: bool = True) -> None:
    keepers.rooms.down = keepers.memberships.down = down


def persisted(keepers: Keepers, *message_ids: str) -> list[object]:
    """What became of published messages when they were stored."""
    events = {each["messageId"]: each for each in keepers.lanes.published() if each["messageType"] == "TEXT"}
    rows = [item(events[message_id], keepers.clock.now(), TABLE) for message_id in message_ids]
    outcomes = keepers.store.put_many(MESSAGES, rows)
    return [each.reason if isinstance(each, PoisonRecord) else each and type(each) for each in outcomes]


def test_who_is_in_a_members_room_writes_and_who_is_not_is_refused_event_by_event(keepers: Keepers) -> None:
    """P12."""
    batch = [message(roomId=room, messageId=f"m-{number}") for number, room in enumerate(("kitchen", "hall", "new"))]

    assert [fate(each) for each in send(keepers, "bob", *batch)] == ["main"] * 3
    assert [fate(each) for each in send(keepers, "carol", *batch)] == [Forbidden, "main", "main"]
    (refused, *_) = send(keepers, "carol", *batch)
    assert refused.error is not None
    assert [detail.field for detail in refused.error.details] == ["roomId"]
    assert ("carol", "kitchen") not in {(each["userId"], each["roomId"]) for each in keepers.lanes.published()}


def test_a_removal_is_in_force_for_the_next_message(keepers: Keepers) -> None:
    """P12."""
    assert fate(*send(keepers, "bob", message())) == "main"
    keepers.clock.advance(1)
    keepers.ok("alice", "DELETE", "kitchen/members/bob")

    assert fate(*send(keepers, "bob", message(messageId="m-2"))) is Forbidden


def test_a_trusted_producer_writes_anywhere(keepers: Keepers) -> None:
    assert fate(*send(keepers, "bot", message(userId="zoe"), scopes=("events:write",))) == "main"


def test_the_first_message_creates_an_open_room_that_nobody_can_close_any_more(keepers: Keepers) -> None:
    """P12: messages of an open room are not taken over by a user who names the room later."""
    send(keepers, "bob", message(roomId="new"))

    assert keepers.rooms.rows["new"] == Room("new", "open", "group", NOW, "bob")
    assert keepers.ask("mallory", "PUT", "new", GROUP)[0] == 409
    assert keepers.ok("carol", "PUT", "new", OPEN)["createdBy"] == "bob"


def test_an_open_room_costs_one_read_per_environment_and_a_members_room_one_per_request(keepers: Keepers) -> None:
    keepers.rooms.reads = keepers.memberships.reads = 0
    for number in range(50):
        send(keepers, "bob", *[message(roomId="hall", messageId=f"{number}-{each}") for each in range(10)])
    assert (keepers.rooms.reads, keepers.memberships.reads) == (1, 0)

    for number in range(5):
        send(keepers, "bob", *[message(messageId=f"{number}-{each}") for each in range(10)])
    assert (keepers.rooms.reads, keepers.memberships.reads) == (2, 5)


def test_while_the_tables_are_away_every_message_is_accepted_and_checked_before_it_is_stored(keepers: Keepers) -> None:
    """P1, P12."""
    away(keepers)
    sent = [send(keepers, user, message(messageId=user, roomId=room)) for user, room in WHO]
    away(keepers, down=False)

    assert [fate(*each) for each in sent] == ["main"] * len(WHO)
    assert persisted(keepers, *[user for user, _ in WHO]) == [None, "not_allowed", None, None]
    assert {(row["userId"], row["roomId"]) for row in keepers.lanes.rows()} == {
        ("bob", "kitchen"),
        ("dora", "hall"),
        ("eve", "new"),
    }
    assert keepers.rooms.rows["new"].kind == "open"
    assert not any(UNCHECKED in row for row in keepers.lanes.rows())


def test_a_room_known_to_be_open_is_not_checked_again_while_the_tables_are_away(keepers: Keepers) -> None:
    send(keepers, "bob", message(roomId="hall"))
    away(keepers)

    send(keepers, "bob", message(roomId="hall", messageId="m-2"))

    assert UNCHECKED not in keepers.lanes.published()[-1]


def test_tables_that_are_away_are_not_asked_by_every_request(keepers: Keepers) -> None:
    away(keepers)
    keepers.rooms.reads = 0
    for number in range(20):
        send(keepers, "bob", message(messageId=f"m-{number}"))
    assert keepers.rooms.reads == 1

    away(keepers, down=False)
    keepers.gate_time += 5
    assert fate(*send(keepers, "carol", message())) is Forbidden


def test_a_right_that_still_cannot_be_checked_keeps_the_message_in_the_lanes(keepers: Keepers) -> None:
    """P1."""
    away(keepers)
    send(keepers, "bob", message(messageId="bob"))

    assert persisted(keepers, "bob") == [StoreUnavailable]
    assert keepers.lanes.rows() == []
    away(keepers, down=False)
    assert persisted(keepers, "bob") == [None]


def test_what_counts_is_who_was_in_the_room_when_the_message_was_accepted(keepers: Keepers) -> None:
    keepers.gate = keepers.new_gate()
    keepers.clock.advance(10)
    away(keepers)
    send(keepers, "bob", message(messageId="in time"))
    away(keepers, down=False)
    keepers.clock.advance(1)
    keepers.ok("alice", "DELETE", "kitchen/members/bob")
    keepers.clock.advance(1)
    away(keepers)
    keepers.gate = keepers.new_gate()
    send(keepers, "bob", message(messageId="too late"))
    away(keepers, down=False)
    keepers.clock.advance(10)
    keepers.ok("alice", "PUT", "kitchen/members/bob")

    assert persisted(keepers, "in time", "too late") == [None, "not_allowed"]


def test_a_join_by_a_clock_ahead_covers_what_was_accepted_by_a_clock_behind(keepers: Keepers) -> None:
    ahead = iso(keepers.clock.now() + 200_000)
    keepers.memberships.add(Change(user_id="carol", room_id="kitchen", kind="join", event=membership_event(ahead, "e")))
    away(keepers)
    send(keepers, "carol", message(messageId="carol"))
    away(keepers, down=False)

    assert persisted(keepers, "carol") == [None]


def test_slow_tables_hold_a_request_no_longer_than_its_time_for_checks(keepers: Keepers) -> None:
    class Slow(MemoryRooms):
        def create(self, room: Room) -> Room:
            keepers.gate_time += 0.2
            return super().create(room)

    rooms = Slow()
    keepers.gate = type(keepers.gate)(CachedRooms(rooms), keepers.memberships, lambda: keepers.gate_time)

    sent = send(keepers, "bob", *[message(roomId=f"new-{number}", messageId=f"m-{number}") for number in range(10)])

    assert {fate(each) for each in sent} == {"main"}
    assert len(rooms.rows) == 3
    assert sum(UNCHECKED in each for each in keepers.lanes.published()) == 7


def test_a_client_cannot_mark_its_own_message(keepers: Keepers) -> None:
    send(keepers, "bob", message(roomId="hall", uncheckedAt=NOW, unchecked_at=NOW))

    assert UNCHECKED not in keepers.lanes.published()[-1]


def test_a_store_that_is_given_nothing_marked_asks_nothing(keepers: Keepers) -> None:
    send(keepers, "bob", message(roomId="hall"))
    keepers.rooms.reads = 0

    assert persisted(keepers, "m-1") == [None]
    assert keepers.rooms.reads == 0


def test_a_mark_of_a_time_at_the_end_of_time_is_judged_like_any_other(keepers: Keepers) -> None:
    """P5: what lies in a lane may come from anywhere."""
    send(keepers, "bob", message())
    event = keepers.lanes.published()[-1]
    last = "9999-12-31T23:59:59.999999Z"

    (outcome,) = keepers.store.put_many(MESSAGES, [item(event | {"timestamp": last, UNCHECKED: last}, 0, TABLE)])

    assert outcome is None


def test_one_bad_message_does_not_hold_up_its_neighbours(keepers: Keepers) -> None:
    """P5."""
    away(keepers)
    for user, room in WHO:
        send(keepers, user, message(messageId=user, roomId=room))
    away(keepers, down=False)
    texts = [each for each in keepers.lanes.published() if each["messageType"] == "TEXT"]
    events = sorted(texts, key=lambda event: str(event["userId"]))
    rows = [item(each, keepers.clock.now(), TABLE) for each in events]
    plain = item({**events[0], "messageId": "plain"}, 0, TABLE)
    plain.pop(UNCHECKED)

    outcomes = CheckedStore(keepers.lanes.store, keepers.rooms, keepers.memberships).put_many(MESSAGES, [*rows, plain])

    assert [outcome is None for outcome in outcomes] == [True, False, True, True, True]


@pytest.mark.parametrize("kind", ["JOIN", "LEAVE"])
def test_only_joining_and_leaving_writes_joins_and_leaves_into_a_history(keepers: Keepers, kind: str) -> None:
    """P12."""
    (refused,) = send(keepers, "bob", message(messageType=kind))
    (taken,) = send(keepers, "bot", message(messageType=kind), scopes=("events:write",))

    assert isinstance(refused.error, InvalidEvent)
    assert [detail.field for detail in refused.error.details] == ["messageType"]
    assert fate(taken) == "main"


@pytest.mark.parametrize(
    ("timestamp", "allowed"),
    [
        ("2025-11-21T09:56:00.000000Z", True),  # the client's clock may be off
        ("2025-11-21T09:55:00.000000Z", False),  # before alice came
        ("2025-11-21T10:30:00.000000Z", True),  # an outbox sent late
        ("2025-11-21T11:04:00.000000Z", True),
        ("2025-11-21T12:00:00.000000Z", False),  # between her memberships
        ("2025-11-21T13:00:58.000000Z", True),
    ],
)
@pytest.mark.parametrize("tables_are_away", [False, True])
def test_nobody_puts_words_into_a_time_at_which_they_were_not_in_the_room(
    keepers: Keepers, timestamp: str, allowed: bool, tables_are_away: bool
) -> None:
    """P12: not before they came, and not into a gap."""
    keepers.clock.advance(3600)
    keepers.ok("alice", "DELETE", "kitchen/members/alice")
    keepers.clock.advance(7200)
    keepers.ok("alice", "PUT", "kitchen/members/alice")
    away(keepers, tables_are_away)

    (result,) = send(keepers, "alice", message(timestamp=timestamp))
    away(keepers, down=False)

    if tables_are_away:
        assert persisted(keepers, "m-1") == [None if allowed else "not_allowed"]
    elif allowed:
        assert fate(result) == "main"
    else:
        assert isinstance(result.error, Forbidden)
        assert [detail.field for detail in result.error.details] == ["timestamp"]
