"""Tables with rows of ann, who is erased, and of others, and what erases them."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any
from unittest.mock import patch

from headrace.core.items import Item
from headrace.core.json import encode
from headrace.core.people import Step, lines_of
from headrace.core.sender import SenderContext
from headrace.core.stream import Stream, TableSettings
from headrace.core.times import iso
from headrace.features.ads import people as ads
from headrace.features.ads.stream import ADS
from headrace.features.analytics.late_events import mark
from headrace.features.attachments.people import erase_files, files_of_room, files_of_user
from headrace.features.edits.change import KINDS as EDITS
from headrace.features.edits.change import fold
from headrace.features.edits.people import changes_of, erase_changes
from headrace.features.invitations.dynamodb import DynamoInvitations
from headrace.features.people.erasure.chat import ChatEraser
from headrace.features.people.erasure.dead_letters import LetterEraser
from headrace.features.people.erasure.eraser import Eraser, rounds_of
from headrace.features.people.erasure.rooms import RoomsEraser
from headrace.features.people.erasures import DynamoErasures, Task, find_erased
from headrace.features.people.exports.exporter import Exporter
from headrace.features.people.exports.room import RoomSources
from headrace.features.people.exports.tasks import DynamoExports
from headrace.features.people.exports.tasks import Task as ExportTask
from headrace.features.people.exports.user import UserSources
from headrace.features.people.exports.withdrawal import erase_exports, withdraw
from headrace.features.people.hashes import ROOM, USER, Person, PersonHashes
from headrace.features.reactions.counts import ReactionCounts
from headrace.features.reactions.people import erase_reactions
from headrace.features.reactions.reaction import KINDS as REACTIONS
from headrace.features.room_deletion.steps import end_room
from headrace.features.ski import people as ski
from headrace.features.ski.stream import SKI
from headrace.live.connections import subscription_row
from headrace.live.dynamodb import Connections
from headrace.runtime.aws import client
from headrace.stage.registry import STREAMS
from headrace.storage.dynamodb.client import DynamoClient, DynamoTable
from headrace.storage.dynamodb.readers import DynamoReader
from headrace.streams.chat.messages.dynamodb import MessageTable
from headrace.streams.chat.messages.shards import MessageReader
from headrace.streams.chat.rooms.consent import Invitation
from headrace.streams.chat.rooms.dynamodb import Memberships, RoomTable
from headrace.streams.chat.rooms.memberships import Change, membership_event
from headrace.streams.chat.rooms.rooms import DIRECT, GROUP, MEMBERS, Room
from tests.contract.tables import described, index
from tests.fakes.clock import FixedClock
from tests.fakes.files import MemoryFiles, memory_attachments
from tests.fakes.live import MemoryRoomLog
from tests.fakes.queues import MemoryDeadLane, MemoryRetryLane
from tests.fakes.ski import MemoryResorts
from tests.fakes.storage import MemoryCache, MemoryObjects
from tests.worlds.message_changes import CHANGES, DynamoMessageChanges, remover
from tests.worlds.senders import CHAT, caller

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
        self.sent: list[tuple[Any, int]] = []

    def send(self, task: Any, delay: int = 0) -> None:
        self.sent.append((task, delay))


class World:
    """Tables with rows of ann and bob, and what erases."""

    def __init__(self, dynamodb: Any, after_storing: Sequence[Step] = ()) -> None:
        self.sdk = dynamodb
        self.dynamodb = client("dynamodb")
        self.clock = FixedClock(NOW)
        self.cache = MemoryCache(self.clock)
        self.hashes = PersonHashes(lambda: SECRET)
        self.person = Person(USER, ANN)
        self.erasures = DynamoErasures(self.dynamodb, "Erasures")
        self.changes = DynamoMessageChanges(self.dynamodb, "EMessages", "messages")
        self.tasks = Tasks()
        self.retry_lane = MemoryRetryLane(self.clock)
        self.dead = self.retry_lane.dead
        messages = self.table("EMessages")
        rooms, memberships, connections = map(self.table, ("ERooms", "EMemberships", "EConnections"))
        clicks, rides = self.table("EClicks"), self.table("ERides")
        late = partial(mark, CHAT, self.cache, self.clock)
        self.log = MemoryRoomLog(self.cache)
        self.uploads = MemoryFiles()
        self.attachments = memory_attachments(self.uploads)
        self.counts = ReactionCounts(self.changes, self.clock)
        remove = remover(self.changes, lambda: self.attachments, self.counts)
        chat = ChatEraser(messages, remove, self.log, late, self.clock)
        places = RoomsEraser(self.dynamodb, "ERooms", "EMemberships", "EConnections", chat.notices)
        self.find = partial(find_erased, self.erasures, self.hashes)
        self.exports, self.files = DynamoExports(self.dynamodb, "Erasures"), MemoryObjects()
        steps = [
            partial(erase_exports, messages, memberships, self.exports, self.files, self.hashes),
            partial(erase_files, self.attachments),
            chat.messages,
            partial(erase_reactions, self.changes, self.counts, self.log),
            partial(erase_changes, self.changes, self.clock),
            places.connections,
            places.memberships,
            partial(ads.erase_clicks, clicks, partial(mark, ADS, self.cache, self.clock)),
            partial(ski.erase_rides, rides, MemoryResorts(), self.clock),
            LetterEraser(MemoryDeadLane(self.dead), self.retry_lane, self.find, STREAMS).dead_letters,
            places.named_by_others,
            places.rooms,
        ]
        self.memberships = Memberships(self.dynamodb, "EMemberships")
        self.invitations = DynamoInvitations(self.dynamodb, "EMemberships")
        self.rooms = RoomTable(self.dynamodb, "ERooms", self.clock)
        self.places = places
        room_steps = [
            partial(end_room, self.rooms),
            lambda target: withdraw(self.exports, self.files, self.hashes.key(Person(ROOM, target.room_id))),
            partial(chat.room, ["#changes#", "#reactions#"]),
            places.members,
            places.followers,
            LetterEraser(MemoryDeadLane(self.dead), self.retry_lane, self.find, STREAMS).dead_letters,
        ]
        self.eraser = Eraser(
            rounds_of(steps, after_storing, age=60, storing=60, window=60),
            self.erasures,
            self.tasks,
            self.hashes,
            self.clock,
            sleep=lambda _seconds: None,
            room_rounds=rounds_of(room_steps, after_storing, age=60, storing=60, window=60),
        )
        user = UserSources(
            messages,
            rooms,
            memberships,
            connections,
            lambda user_id, skier_id: [
                partial(files_of_user, self.attachments, user_id),
                partial(lines_of, "changes", partial(changes_of, EDITS), self.changes, user_id),
                partial(lines_of, "reactions", partial(changes_of, REACTIONS), self.changes, user_id),
                partial(lines_of, "clicks", ads.clicks_of, clicks, user_id, shown=partial(ads.whole, clicks)),
                *([] if skier_id is None else [partial(lines_of, "rides", ski.rides_of, rides, skier_id)]),
            ],
        )
        room = RoomSources(
            self.rooms,
            self.memberships,
            MessageReader(DynamoReader(self.dynamodb)),
            "EMessages",
            lambda seen: [partial(files_of_room, self.attachments, seen)],
            self.clock,
        )
        self.export_tasks = Tasks()
        self.exporter = Exporter(
            {"user": user.of, "room": room.of},
            self.exports,
            self.files,
            self.export_tasks,
            self.hashes,
            self.clock,
        )

    def store(self, stream: Stream, by: str, event: dict[str, Any], *, trusted: bool = False) -> Item:
        """The stored row of an event that ``by`` sends."""
        sender = SenderContext(by, f"{by} by name", trusted, self.clock.now())
        self.clock.advance(0.001)
        accepted = stream.accept(event, sender).event
        row = stream.item(accepted, NOW, TableSettings(table="", retention_days=30))
        names = {"chat": "EMessages", "ads": "EClicks", "ski": "ERides"}
        self.table(names[stream.name]).put(row)
        return row

    def erase(self, parts: int = 1000, room_id: str = "") -> Task:
        """Run all slices, with time for so many parts in each; returns the task."""
        task = Task("" if room_id else ANN, None if room_id else str(SKIER_ID), iso(self.clock.now()), room_id=room_id)
        self.tasks.send(task)
        while self.tasks.sent:
            each, delay = self.tasks.sent.pop(0)
            self.clock.advance(delay)
            left = iter([100.0] * parts + [0.0] * 1000)
            self.eraser.run(each, lambda left=left: next(left))
        return task

    def export(self, task: ExportTask, parts: int = 1000) -> None:
        """Run all slices of an export, with time for so many pages in each. Tasks go through a queue, as JSON."""
        self.export_tasks.send(task)
        while self.export_tasks.sent:
            each, _ = self.export_tasks.sent.pop(0)
            left = iter([100.0] * parts + [0.0] * 1000)
            self.exporter.run(ExportTask(**json.loads(encode(asdict(each)))), lambda left=left: next(left))

    def table(self, name: str) -> DynamoTable:
        return (MessageTable if name.startswith("EMessages") else DynamoTable)(self.dynamodb, name, "rows")

    def rows(self, table: str) -> list[Item]:
        return list(self.table(table).scan_all())

    def clear(self) -> None:
        """Delete all rows."""
        for table in TABLES:
            names = [each["AttributeName"] for each in table["KeySchema"]]
            keys = [{name: row[name] for name in names} for row in self.rows(table["TableName"])]
            self.table(table["TableName"]).delete_many(keys)

    def holding(self, text: str) -> list[str]:
        """What has ``text`` in it: rows of all tables, and dead letters."""
        rows = [json.dumps([name, row], default=str) for name in NAMES for row in self.rows(name)]
        letters = [message.record.body.decode() for message in self.dead.messages]
        return [each for each in [*rows, *letters] if text in each]


class Stopped(Exception):
    """An invocation that ends in the middle."""


@contextlib.contextmanager
def stopped_after(writes: int) -> Iterator[None]:
    """Let what runs end after so many writes."""
    left, call = iter(range(writes)), DynamoClient.call

    def stopping(self: DynamoClient, operation: Any, **parameters: Any) -> Any:
        if operation.__name__ not in ("query", "scan", "get_item", "batch_get_item") and next(left, None) is None:
            raise Stopped
        return call(self, operation, **parameters)

    with patch.object(DynamoClient, "call", stopping), contextlib.suppress(Stopped):
        yield


def fill(world: World) -> dict[str, Item]:
    """What ann and bob did; the rows that tests look at."""
    found = {}
    for room in ("kitchen~4", "hall"):
        world.rooms.create(Room(room, MEMBERS, GROUP, iso(NOW), ANN if room == "kitchen~4" else "bob"))
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
        Connections(connections, world.clock).open(f"c-{user[:3]}", caller(user))
        connections.put(subscription_row("kitchen~4", f"c-{user[:3]}", caller(user), NOW // 1_000_000, None))

        mine = found[f"{user} writes"] = world.store(
            CHAT, user, {"roomId": "kitchen~4", "message": f"secret of {user}"}
        )
        found[f"{user} says"] = world.store(CHAT, user, {"roomId": "hall", "message": f"more of {user}"})
        key = mine["timestampSk"]
        edit = world.store(
            CHANGES, user, {"roomId": "kitchen~4", "key": key, "change": "edit", "message": f"edited by {user}"}
        )
        world.changes.apply("kitchen~4", key, fold(user, [edit]), iso(NOW))
        found[f"{user} clicks"] = world.store(
            ADS, user, {"adId": "ad-1", "adType": "banner", "clickedAt": iso(world.clock.now())}
        )
        skier = SKIER_ID if user == ANN else 5
        ride = {"resortID": 7, "seasonID": 2025, "dayID": 3, "skierID": skier, "time": 60, "liftID": 4}
        found[f"{user} rides"] = world.store(SKI, "gate", ride, trusted=True)
    for by, of in ((ANN, "bob"), ("bob", ANN), ("carl", "bob")):
        at = {"roomId": "kitchen~4", "key": found[f"{of} writes"]["timestampSk"]}
        world.store(CHANGES, by, {**at, "change": "react", "value": "+1"})
    return found


def count_reactions(world: World, room: str, key: str) -> dict[str, int]:
    message = world.changes.message(room, key)
    assert message is not None
    ReactionCounts(world.changes, world.clock).apply(message, [])
    found = world.changes.message(room, key)
    assert found is not None
    return found.get("reactions", {})
