"""Rooms for ``bench.history``, with messages and memberships."""

from __future__ import annotations

from typing import Any

from bench.emulators.processes import client

TABLE, ROOMS, MEMBERSHIPS = "ChatMessages", "Rooms", "Memberships"
START = 1_763_719_200_000_000
STEP = 250_000


def moment(number: int) -> str:
    from headrace.core import times

    return times.iso(START + number * STEP)


def message(room: str, number: int) -> dict[str, Any]:
    """Message ``number`` of a room, as persist_events stores it."""
    from headrace.core import keys

    message_id = f"0199{number:028x}"
    tag = keys.sender_tag(f"user-{number % 50}")
    return {
        "roomId": room,
        "timestampSk": keys.timestamp_sk(moment(number), message_id, tag),
        "userId": f"user-{number % 50}",
        "username": f"User {number % 50}",
        "message": f"message number {number}, about as long as people write in a chat",
        "messageType": "TEXT",
        "messageId": message_id,
        "timestamp": moment(number),
        "bucketId": keys.bucket_id(message_id, 8),
        "expiresAt": 4_000_000_000,
    }


def fill(port: int, sizes: list[int]) -> None:
    """Create the tables and write the messages of the rooms."""
    from headrace.storage.dynamodb.batch_writer import DynamoStore
    from headrace.storage.ports import Table

    database = client("dynamodb", port)
    for name, *key in ((TABLE, "roomId", "timestampSk"), (ROOMS, "roomId"), (MEMBERSHIPS, "userId", "roomId")):
        database.create_table(
            TableName=name,
            BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[{"AttributeName": each, "AttributeType": "S"} for each in key],
            KeySchema=[
                {"AttributeName": each, "KeyType": kind} for each, kind in zip(key, ("HASH", "RANGE"), strict=False)
            ],
        )
    store = DynamoStore(8, 10)
    for size in sizes:
        for first in range(0, size, 5_000):
            items = [message(f"room-{size}", number) for number in range(first, min(first + 5_000, size))]
            failed = [each for each in store.put_many(Table(TABLE, ("roomId", "timestampSk")), items) if each]
            if failed:
                raise SystemExit(f"{len(failed)} messages were not stored: {failed[0]}")


class RoomAccesses:
    """The access to the same rooms as ``open`` and as ``members`` rooms, by kind."""

    def __init__(self, sizes: list[int]) -> None:
        from headrace.aws.client import client as lean
        from headrace.streams.chat.access import RoomAccess
        from headrace.streams.chat.tables.fold import membership_event
        from headrace.streams.chat.tables.memberships import Change, DynamoMemberships, EventKind
        from headrace.streams.chat.tables.rooms import CachedRooms, DynamoRooms, Room

        dynamodb = lean("dynamodb")
        memberships = DynamoMemberships(dynamodb, MEMBERSHIPS)
        self.of: dict[str, RoomAccess] = {}
        for kind in ("open", "members"):
            rooms = CachedRooms(DynamoRooms(dynamodb, ROOMS))
            for size in sizes:
                rooms._cached[f"room-{size}"] = Room(f"room-{size}", kind, "group", moment(0), "alice")
            self.of[kind] = RoomAccess(rooms, memberships)
        for size in sizes:
            # A member from the start, except for ten messages in the middle of the middle page.
            middle = size // 2
            changes: list[tuple[EventKind, int]] = [("join", 0), ("leave", middle - 20), ("join", middle - 10)]
            for event, number in changes:
                change = membership_event(moment(number), f"e{number}")
                memberships.add(Change(user_id="alice", room_id=f"room-{size}", kind=event, event=change))
