"""Rooms for ``bench.history``, with messages and memberships."""

from __future__ import annotations

from typing import Any, Literal

from bench.rows import CHAT_KEY, Row, chat_row, fill
from bench.services import Database, create_table

TABLE, ROOMS, MEMBERSHIPS = "ChatMessages", "Rooms", "Memberships"
KINDS: tuple[Literal["open"], Literal["members"]] = ("open", "members")
SHARDED = "arena~8"
"""An open room with as many messages as the smallest one."""
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
    for name, suffix in ((TABLE, ""), (MEMBERSHIPS, ""), *((ROOMS, kind) for kind in KINDS)):
        create_table(found.client(), name, (), suffix)
    for size in sizes:
        fill(TABLE, CHAT_KEY, (message(f"room-{size}", number) for number in range(size)))
    fill(TABLE, CHAT_KEY, (message(SHARDED, number) for number in range(min(sizes))))


def room_accesses(sizes: list[int]) -> dict[str, Any]:
    """The access to the same rooms as ``open`` and as ``members`` rooms, by kind: each kind has a table of rooms."""
    from headrace.runtime.aws import client as lean
    from headrace.streams.chat.rooms.access import RoomAccess
    from headrace.streams.chat.rooms.dynamodb import Memberships, RoomTable
    from headrace.streams.chat.rooms.memberships import Change, membership_event
    from headrace.streams.chat.rooms.rooms import CachedRooms, Room

    dynamodb = lean("dynamodb")
    memberships, found = Memberships(dynamodb, MEMBERSHIPS), dict[str, Any]()
    for kind in KINDS:
        rooms = CachedRooms(RoomTable(dynamodb, ROOMS + kind))
        for room_id in (SHARDED, *(f"room-{size}" for size in sizes)):
            rooms.create(Room(room_id, kind, "group", moment(0), "alice"))
        found[kind] = RoomAccess(rooms, memberships)
    for size in sizes:
        joined = membership_event(moment(0), "e0")
        memberships.add(Change(user_id="alice", room_id=f"room-{size}", kind="join", event=joined))
    return found
