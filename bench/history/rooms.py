"""Rooms for ``bench.history``, with messages and memberships."""

from __future__ import annotations

from bench.rows import CHAT_KEY, Row, chat_row, fill
from bench.services import Database

TABLE, ROOMS, MEMBERSHIPS = "ChatMessages", "Rooms", "Memberships"
START = 1_763_719_200_000_000
STEP = 250_000


def moment(number: int) -> str:
    from headrace.core import times

    return times.iso(START + number * STEP)


def message(room: str, number: int) -> Row:
    """Message ``number`` of a room."""
    return chat_row(room, number, START + number * STEP, user=number % 50)


def fill_rooms(found: Database, sizes: list[int]) -> None:
    """Create the tables and write the messages of the rooms."""
    for name in (TABLE, ROOMS, MEMBERSHIPS):
        found.create_table(name, indexes=())
    for size in sizes:
        fill(TABLE, CHAT_KEY, (message(f"room-{size}", number) for number in range(size)))


class RoomAccesses:
    """The access to the same rooms as ``open`` and as ``members`` rooms, by kind."""

    def __init__(self, sizes: list[int]) -> None:
        from headrace.runtime.aws import client as lean
        from headrace.streams.chat.rooms.dynamodb.rooms import DynamoMemberships, DynamoRooms
        from headrace.streams.chat.rooms.memberships import Change, EventKind, membership_event
        from headrace.streams.chat.rooms.rooms import CachedRooms, Room, RoomAccess

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
