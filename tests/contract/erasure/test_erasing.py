"""P15: Nothing of an erased person is left in any table, and nothing of others is missing."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from headrace.analytics.generations import LateEvents
from headrace.core.caller import SenderContext
from headrace.core.envelope import Envelope
from headrace.core.items import Item
from headrace.core.stream import Stream, TableSettings
from headrace.core.times import iso
from headrace.erasure.chat import ChatEraser
from headrace.erasure.clicks import ClickEraser
from headrace.erasure.dead_letters import LetterEraser
from headrace.erasure.dynamodb import DynamoErasures
from headrace.erasure.eraser import SETTLE_SECONDS, Eraser
from headrace.erasure.people import SKIER, USER, Person, PersonHashes
from headrace.erasure.rides import RideEraser
from headrace.erasure.rooms import RoomsEraser
from headrace.erasure.screen import ErasureScreen
from headrace.erasure.tasks import DONE, RUNNING, Task
from headrace.live.connections import connection_row, subscription_row
from headrace.queues.ports import RetryRecord
from headrace.runtime.aws import client
from headrace.storage.dynamodb.client import DynamoClient, DynamoTable, from_wire
from headrace.streams.ads.stream import ADS
from headrace.streams.chat.change import fold
from headrace.streams.chat.changes.dynamodb import DynamoChanges
from headrace.streams.chat.changes.reactions import ReactionCounts
from headrace.streams.chat.rooms.dynamodb.invitations import DynamoInvitations
from headrace.streams.chat.rooms.dynamodb.rooms import DynamoMemberships, DynamoRooms
from headrace.streams.chat.rooms.invitations import Invitation
from headrace.streams.chat.rooms.memberships import Change, membership_event
from headrace.streams.chat.rooms.rooms import DIRECT, GROUP, MEMBERS, Room
from headrace.streams.chat.stream import CHANGES, CHAT
from headrace.streams.ski.stream import SKI
from tests.contract.tables import described, index, made
from tests.fakes.clock import FixedClock
from tests.fakes.live import MemoryRoomLog
from tests.fakes.queues import MemoryDeadLane, MemoryRetryLane, Message
from tests.fakes.ski import MemoryResorts
from tests.fakes.storage import MemoryCache
from tests.worlds.senders import caller

NOW = 1_763_719_258_000_000
ANN, SKIER_ID = "ann-of-the-test", 774_412_003
SECRET = "a secret of the test"

TABLES = (
    described("EMessages", "roomId", "timestampSk", indexes=(index("UserIndex", "userId", "timestampSk"),)),
    described("ERooms", "roomId"),
    described("EMemberships", "userId", "roomId", indexes=(index("RoomMembers", "roomId", "userId", projected=()),)),
    described("EConnections", "roomId", "connectionId", indexes=(index("ByUser", "userId", "roomId"),)),
    described("ERides", "skierID", "rideSk"),
    described("EClicks", "clickId", "sender", indexes=(index("UserIndex", "userId", "timestampSk"),)),
    described("Erasures", "person"),
)


NAMES = [each["TableName"] for each in TABLES]


class Tasks:
    """A queue of slices in memory."""

    def __init__(self) -> None:
        self.sent: list[tuple[Task, int]] = []

    def send(self, task: Task, delay: int = 0) -> None:
        self.sent.append((task, delay))


class World:
    """Tables with rows of ann and bob, and what erases."""

    def __init__(self, dynamodb: Any) -> None:
        self.sdk = dynamodb
        self.dynamodb = client("dynamodb")
        self.clock = FixedClock(NOW)
        self.cache = MemoryCache(self.clock)
        self.hashes = PersonHashes(lambda: SECRET)
        self.person = Person(USER, ANN)
        self.erasures = DynamoErasures(self.dynamodb, "Erasures")
        self.changes = DynamoChanges(self.dynamodb, "EMessages")
        self.tasks = Tasks()
        self.retry_lane = MemoryRetryLane(self.clock)
        self.dead = self.retry_lane.dead
        late = LateEvents(self.cache, self.clock, 10)
        self.log = MemoryRoomLog(self.cache)
        chat = ChatEraser(self.dynamodb, "EMessages", self.changes, self.log, late, self.clock)
        places = RoomsEraser(self.dynamodb, "ERooms", "EMemberships", "EConnections", chat.notices)
        screen = ErasureScreen(self.erasures, self.hashes, self.clock)
        steps = [
            chat.messages,
            chat.changes,
            places.connections,
            places.memberships,
            ClickEraser(self.dynamodb, "EClicks", late).clicks,
            RideEraser(self.dynamodb, "ERides", MemoryResorts(), self.clock).rides,
            LetterEraser(MemoryDeadLane(self.dead), self.retry_lane, screen).dead_letters,
            places.named_by_others,
            places.rooms,
        ]
        self.eraser = Eraser(steps, self.erasures, self.tasks, self.hashes, self.clock)
        self.memberships = DynamoMemberships(self.dynamodb, "EMemberships")
        self.invitations = DynamoInvitations(self.dynamodb, "EMemberships")
        self.rooms = DynamoRooms(self.dynamodb, "ERooms")

    def store(self, stream: Stream, by: str, event: dict[str, Any], *, trusted: bool = False) -> Item:
        """The stored row of an event that ``by`` sends."""
        sender = SenderContext(by, f"{by} by name", trusted, self.clock.now())
        self.clock.advance(0.001)
        accepted = stream.accept(event, sender).event
        row = stream.item(accepted, NOW, TableSettings(table="", retention_days=30))
        names = {"chat": "EMessages", "ads": "EClicks", "ski": "ERides"}
        DynamoTable(self.dynamodb, names[stream.name], "rows").put(row)
        return row

    def erase(self, parts: int = 1000) -> Task:
        """Run all slices, with time for so many parts in each; returns the task."""
        task = Task(ANN, str(SKIER_ID), iso(self.clock.now()))
        self.tasks.send(task)
        while self.tasks.sent:
            each, delay = self.tasks.sent.pop(0)
            self.clock.advance(delay)
            left = iter([100.0] * parts + [0.0] * 1000)
            self.eraser.run(each, lambda left=left: next(left))
        return task

    def rows(self, table: str) -> list[Item]:
        pages = self.sdk.get_paginator("scan").paginate(TableName=table)
        return [from_wire(row) for page in pages for row in page["Items"]]

    def clear(self) -> None:
        """Delete all rows."""
        for table in TABLES:
            names = [each["AttributeName"] for each in table["KeySchema"]]
            keys = [{name: row[name] for name in names} for row in self.rows(table["TableName"])]
            DynamoTable(self.dynamodb, table["TableName"], "rows").delete_many(keys)

    def holding(self, text: str) -> list[str]:
        """What has ``text`` in it: rows of all tables, and dead letters."""
        rows = [json.dumps([name, row], default=str) for name in NAMES for row in self.rows(name)]
        letters = [message.record.body.decode() for message in self.dead.messages]
        return [each for each in [*rows, *letters] if text in each]


@pytest.fixture
def world(dynalite: str) -> Iterator[World]:
    with made(*TABLES) as dynamodb:
        world = World(dynamodb)
        yield world
        world.dynamodb.close()


def fill(world: World) -> dict[str, Item]:
    """What ann and bob did; the rows that tests look at."""
    found = {}
    for room in ("kitchen", "hall"):
        world.rooms.create(Room(room, MEMBERS, GROUP, iso(NOW), ANN if room == "kitchen" else "bob"))
        for user in (ANN, "bob"):
            added_by = {ANN: "bob", "bob": ANN}[user]
            join = membership_event(iso(world.clock.now()), f"join-{user[:1]}-{room}")
            world.memberships.add(
                Change(user_id=user, room_id=room, kind="join", event=join, username=f"{user} n", added_by=added_by)
            )
            notice = {"roomId": room, "messageId": join[28:], "timestamp": join[:27], "messageType": "JOIN"}
            notice |= {"message": "", "userId": added_by, "memberId": user, "memberName": f"{user} n"}
            found[f"{user} joins {room}"] = world.store(CHAT, "server", notice, trusted=True)
    world.rooms.create(Room("direct:x", MEMBERS, DIRECT, iso(NOW), "bob"))
    for user in (ANN, "bob"):
        world.rooms.take_seat("direct:x", user)
    world.invitations.add(Invitation(ANN, "attic", "bob", iso(NOW), "member"))
    world.invitations.add(Invitation("bob", "attic", ANN, iso(NOW), "member"))
    world.invitations.block(ANN, "carl", iso(NOW))
    for user in (ANN, "bob"):
        connections = DynamoTable(world.dynamodb, "EConnections", "connections")
        connections.put(connection_row(f"c-{user[:3]}", caller(user), NOW))
        connections.put(subscription_row("kitchen", f"c-{user[:3]}", caller(user), NOW // 1_000_000, None))

        mine = found[f"{user} writes"] = world.store(CHAT, user, {"roomId": "kitchen", "message": f"secret of {user}"})
        found[f"{user} says"] = world.store(CHAT, user, {"roomId": "hall", "message": f"more of {user}"})
        key = mine["timestampSk"]
        edit = world.store(
            CHANGES, user, {"roomId": "kitchen", "key": key, "change": "edit", "message": f"edited by {user}"}
        )
        world.changes.mark_changed("kitchen")
        world.changes.apply("kitchen", key, fold(user, [edit]), iso(NOW))
        found[f"{user} clicks"] = world.store(
            ADS, user, {"adId": "ad-1", "adType": "banner", "clickedAt": iso(world.clock.now())}
        )
        skier = SKIER_ID if user == ANN else 5
        ride = {"resortID": 7, "seasonID": 2025, "dayID": 3, "skierID": skier, "time": 60, "liftID": 4}
        found[f"{user} rides"] = world.store(SKI, "gate", ride, trusted=True)
    for by, of in ((ANN, "bob"), ("bob", ANN), ("carl", "bob")):
        at = {"roomId": "kitchen", "key": found[f"{of} writes"]["timestampSk"]}
        world.store(CHANGES, by, {**at, "change": "react", "value": "+1"})
    return found


def count_reactions(world: World, room: str, key: str) -> dict[str, int]:
    message = world.changes.message(room, key)
    assert message is not None
    ReactionCounts(world.changes, world.clock).apply(message)
    found = world.changes.message(room, key)
    assert found is not None
    return found.get("reactions", {})


@pytest.mark.parametrize("parts", [1000, 3])
def test_nothing_of_an_erased_person_is_left_whether_in_one_slice_or_in_many(world: World, parts: int) -> None:
    found = fill(world)
    assert count_reactions(world, "kitchen", found["bob writes"]["timestampSk"]) == {"+1": 2}

    task = world.erase(parts)

    assert world.holding(ANN) == []
    assert world.holding(str(SKIER_ID)) == []
    erasure = world.erasures.get(world.hashes.key(Person(USER, ANN)))
    assert erasure is not None
    assert (erasure.state, erasure.erased_at) == (DONE, task.erased_at)
    assert erasure.counts == {
        "clicks": 1,
        "connections": 2,
        "memberships": 9,
        "messages": 6,
        "reactions": 1,
        "rides": 1,
        "rooms": 2,
    }


def test_counts_stay_and_others_keep_all_that_is_theirs(world: World) -> None:
    found = fill(world)
    before = {name: world.rows(name) for name in NAMES}
    count_reactions(world, "kitchen", found["bob writes"]["timestampSk"])

    task = world.erase()

    pseudonym = world.hashes.pseudonym(Person(USER, ANN), task.erased_at)
    messages = {(row["roomId"], row["timestampSk"]): row for row in world.rows("EMessages")}
    mine = messages["kitchen", found[f"{ANN} writes"]["timestampSk"]]
    assert {mine[name] for name in ("userId", "username", "deletedBy")} == {pseudonym}
    assert (mine["message"], mine["deletedAt"]) == ("", task.erased_at)
    his = messages["kitchen", found["bob writes"]["timestampSk"]]
    assert (his["userId"], his["message"], his["reactions"]) == ("bob", "edited by bob", {"+1": 1})
    added = messages["kitchen", found[f"{ANN} joins kitchen"]["timestampSk"]]
    assert (added["userId"], added["memberId"], added["memberName"]) == ("bob", pseudonym, pseudonym)
    assert "deletedAt" not in added
    plain = [row for row in before["EMessages"] if "change" not in row and row["timestampSk"] != "#"]
    assert {(row["roomId"], row["timestampSk"]) for row in plain} <= messages.keys()

    assert len(world.rows("EClicks")) == len(before["EClicks"])
    assert {row["userId"] for row in world.rows("EClicks")} == {pseudonym, "bob"}
    skiers = {row["skierID"] for row in world.rows("ERides")}
    assert skiers == {"5", world.hashes.pseudonym(Person(SKIER, str(SKIER_ID)), task.erased_at)}
    assert {row["userId"] for row in world.rows("EMemberships")} == {"bob"}
    assert world.memberships.get("bob", "kitchen").added_by == pseudonym
    rooms = {row["roomId"]: row for row in world.rows("ERooms")}
    assert (rooms["kitchen"]["createdBy"], rooms["hall"]["createdBy"]) == (pseudonym, "bob")
    assert rooms["direct:x"]["seats"] == {pseudonym, "bob"}


def test_a_message_that_an_owner_deleted_stays_deleted_without_the_owners_name(world: World) -> None:
    found = fill(world)
    key = found["bob writes"]["timestampSk"]
    deletion = world.store(CHANGES, ANN, {"roomId": "kitchen", "key": key, "change": "delete"})
    DynamoTable(world.dynamodb, "EMessages", "messages").put({**deletion, "by": "owner"})
    world.changes.apply("kitchen", key, fold("bob", [{**deletion, "by": "owner"}]), iso(NOW))

    task = world.erase()

    message = world.changes.message("kitchen", key)
    assert message is not None
    assert message["deletedBy"] == world.hashes.pseudonym(Person(USER, ANN), task.erased_at)
    assert fold("bob", world.changes.changes_of("kitchen", key)) is not None
    assert world.holding(ANN) == []


def test_only_the_events_of_the_person_leave_a_dead_letter(world: World) -> None:
    def bury(accepted_at: int, *authors: str, body: bytes | None = None) -> None:
        events = [
            CHAT.accept({"roomId": "hall", "message": f"dead of {each}"}, SenderContext(each, each, False, NOW)).event
            for each in authors
        ]
        record = Envelope("chat", "r-1", iso(accepted_at), events).encode() if body is None else body
        world.dead.send(RetryRecord(record, {"reason": "StoreUnavailable"}))

    bury(NOW, ANN)
    bury(NOW, ANN, "bob")
    bury(NOW, "bob")
    bury(NOW + 3_600_000_000, ANN)
    bury(NOW, body=b"no envelope")

    world.erase()

    assert authors_of(world.dead.messages) == [["bob"], [ANN], []]
    assert authors_of(world.retry_lane.queue.messages) == [["bob"]]
    assert world.retry_lane.records[0].attributes == {"reason": "StoreUnavailable"}
    assert world.dead.visible() == world.dead.messages
    erasure = world.erasures.get(world.hashes.key(Person(USER, ANN)))
    assert erasure is not None
    assert (erasure.counts["deadLetters"], erasure.counts["unreadableDeadLetters"]) == (2, 1)


def authors_of(messages: list[Message]) -> list[list[str]]:
    bodies = [message.record.body for message in messages]
    return [[event["userId"] for event in json.loads(body)["events"]] if body[0] == 123 else [] for body in bodies]


def test_the_second_round_finds_what_was_on_its_way(world: World) -> None:
    fill(world)
    task = Task(ANN, None, iso(world.clock.now()))
    world.eraser.run(task, lambda: 100.0)
    ((second, delay),) = world.tasks.sent
    assert (second, delay) == (replace(task, round=2), SETTLE_SECONDS)
    assert {json.loads(row)[0] for row in world.holding(ANN)} == {"EMemberships"}
    world.store(CHAT, ANN, {"roomId": "hall", "message": "on its way"})
    (joined,) = world.memberships.get(ANN, "hall").joins
    notice = {"roomId": "hall", "messageId": joined[28:], "timestamp": joined[:27], "messageType": "JOIN"}
    world.store(CHAT, "server", {**notice, "message": "", "userId": "bob", "memberId": ANN}, trusted=True)

    world.eraser.run(second, lambda: 100.0)

    assert world.holding(ANN) == []
    assert world.holding("on its way") == []


def test_who_blocks_the_user_goes_on_to_block_them(world: World) -> None:
    world.invitations.block("carl", ANN, iso(NOW))

    world.erase()

    assert world.invitations.blocks([("carl", ANN)]) == {("carl", ANN)}


def test_the_text_of_a_notice_goes_too(world: World) -> None:
    world.store(CHAT, ANN, {"roomId": "hall", "message": "goodbye", "messageType": "LEAVE"}, trusted=True)

    world.erase()

    assert world.holding("goodbye") == world.holding(ANN) == []


class Stopped(Exception):
    """An invocation that ends in the middle."""


@pytest.mark.parametrize("writes", range(1, 40, 3))
def test_an_erasure_that_stops_after_any_write_is_completed_by_the_next_try(
    world: World, monkeypatch: pytest.MonkeyPatch, writes: int
) -> None:
    """Counts of reactions are right, and nothing of the person is left."""
    found = fill(world)
    bobs = found["bob writes"]["timestampSk"]
    assert count_reactions(world, "kitchen", bobs) == {"+1": 2}
    left = iter(range(writes))
    call = DynamoClient.call

    def stopping(self: DynamoClient, operation: Any, **parameters: Any) -> Any:
        if operation.__name__ not in ("query", "scan", "get_item", "batch_get_item") and next(left, None) is None:
            raise Stopped
        return call(self, operation, **parameters)

    monkeypatch.setattr(DynamoClient, "call", stopping)
    task = Task(ANN, str(SKIER_ID), iso(world.clock.now()))
    with contextlib.suppress(Stopped):
        world.eraser.run(task, lambda: 100.0)
    monkeypatch.setattr(DynamoClient, "call", call)

    world.eraser.run(task, lambda: 100.0)
    world.eraser.run(replace(task, round=2), lambda: 100.0)

    assert world.holding(ANN) == world.holding(str(SKIER_ID)) == []
    message = world.changes.message("kitchen", bobs)
    assert message is not None
    assert message["reactions"] == {"+1": 1}


def test_a_task_that_is_delivered_again_after_the_end_changes_nothing(world: World) -> None:
    fill(world)
    task = world.erase()
    came_back = world.store(CHAT, ANN, {"roomId": "hall", "message": "I am here again"})

    world.eraser.run(replace(task, round=2), lambda: 100.0)

    assert world.changes.message("hall", came_back["timestampSk"]) == came_back
    assert world.tasks.sent == []


def test_an_erasure_begins_once_and_can_begin_again_after_its_end(world: World) -> None:
    key, (first, later) = world.hashes.key(Person(USER, ANN)), (iso(NOW), iso(NOW + 5))

    assert world.erasures.begin(key, first).erased_at == first
    assert world.erasures.begin(key, later).erased_at == first
    world.erasures.add(key, first, {"messages": 2})
    world.erasures.add(key, first, {"messages": 1, "clicks": 1})
    world.erasures.finish(key, first, later)
    ended = world.erasures.begin(key, first)
    assert (ended.state, ended.done_at, ended.counts) == (DONE, later, {"messages": 3, "clicks": 1})
    again = world.erasures.begin(key, later)
    assert (again.state, again.erased_at, again.counts) == (RUNNING, later, {})

    world.erasures.bury(key, first)
    assert world.erasures.erased_at([key, "nobody"]) == {key: later}
