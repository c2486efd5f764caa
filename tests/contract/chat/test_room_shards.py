"""A room with shards in DynamoDB: pages, what was stored since a position, and counts are those of any other room."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from headrace.analytics.aggregate import Aggregate
from headrace.analytics.requests import Scope
from headrace.analytics.scanner import Scanner
from headrace.analytics.time_slots import MINUTE, Span
from headrace.api.paging.cursors import CursorSigner
from headrace.core import keys, times
from headrace.core.stream import TIME_SHARDS
from headrace.runtime.aws import client
from headrace.storage.dynamodb.batch_writer import DynamoStore, writing_client
from headrace.storage.dynamodb.readers import DynamoColumns, DynamoReader, columns_client
from headrace.storage.ports import Table
from headrace.streams.chat.live.checks import _unlogged
from headrace.streams.chat.messages.history import History, RoomPageRequest
from headrace.streams.chat.messages.positions import OVERLAP, STORED_AT, UNLOGGED, position
from headrace.streams.chat.messages.shards import MessageColumns, MessageReader, MessageStore
from headrace.streams.chat.stream import CHAT
from tests.contract.tables import described, index, made, scan
from tests.fakes.clock import FixedClock
from tests.worlds.history_world import ALICE, START, Rights, at, body, row

MESSAGES = Table("Messages", ("roomId", "timestampSk"))
ROOMS = ("stadium~8", "lobby")
BEGIN = 2 * OVERLAP // times.SECOND
NUMBERS = range(40)
"""Messages of each room, half a second apart."""


@pytest.fixture
def table(dynalite: str) -> Iterator[Any]:
    indexes = (
        index("UserIndex", "userId", "timestampSk"),
        index("TimeIndex", "bucketId", "timestampSk", projected=("userId", "expiresAt")),
        index("LateIndex", "roomId", STORED_AT),
    )
    with made(described(MESSAGES.name, *MESSAGES.key, indexes=indexes)) as dynamodb:
        for room in ROOMS:
            store(*(message(room, number) for number in NUMBERS))
        yield dynamodb


def message(room: str, number: int, **more: Any) -> dict[str, Any]:
    found = row(BEGIN + number / 2, f"m{number}", room=room, **more)
    return found | {"bucketId": keys.bucket_id(f"m{number}", TIME_SHARDS.write), "expiresAt": 4_000_000_000}


def store(*rows: dict[str, Any]) -> None:
    assert MessageStore(DynamoStore(writing_client())).put_many(MESSAGES, rows) == [None] * len(rows)


def history() -> History:
    reader = MessageReader(DynamoReader(client("dynamodb")))
    return History(reader, CursorSigner(b"k" * 32), MESSAGES.name, FixedClock(START), Rights())  # type: ignore[arg-type]


def walk(room: str, **request: Any) -> list[tuple[list[str], bool]]:
    """The texts of each page, and whether there is more."""
    found, following = [], request
    while True:
        asked = RoomPageRequest.model_validate(following)
        page = body(history().room(ALICE, room, asked, asked.since))
        assert {item["roomId"] for item in page["items"]} <= {room}
        found.append(([item["messageId"] for item in page["items"]], page["hasMore"]))
        if not page["hasMore"]:
            return found
        following = {"cursor": page["previous" if "after" in request else "next"], "limit": request["limit"]}


@pytest.mark.usefixtures("table")
@pytest.mark.parametrize("limit", [1, 7, 39, 40, 60])
@pytest.mark.parametrize(
    "place",
    [
        {},
        {"after": f"{at(BEGIN)}#m0"},
        {"from": at(BEGIN + 4), "to": at(BEGIN + 14)},
        {"before": f"{at(BEGIN + 10)}#x"},
    ],
    ids=["newest", "after", "times", "before"],
)
def test_pages_are_those_of_a_room_without_shards(limit: int, place: dict[str, str]) -> None:
    of_shards, of_one = (walk(room, limit=limit, **place) for room in ROOMS)

    assert of_shards == of_one
    assert sum(len(ids) for ids, _ in of_one) >= 20


@pytest.mark.parametrize("limit", [1, 3, 200])
def test_messages_that_were_stored_late_are_found_once_in_all_shards(table: Any, limit: int) -> None:
    late = {f"m{number}" for number in range(0, 40, 5)}
    store(*(message(ROOMS[0], int(each[1:]), **{STORED_AT: at(BEGIN + 300)}) for each in late))
    assert len(scan(table)) == 2 * len(NUMBERS)

    pages = walk(ROOMS[0], limit=limit, since=position(START + (BEGIN + 200) * times.SECOND))

    found = [each for ids, _ in pages for each in ids]
    assert sorted(found) == sorted(late)


@pytest.mark.usefixtures("table")
def test_a_check_finds_a_message_of_any_shard_that_is_in_no_log() -> None:
    now = dict.fromkeys(ROOMS, START)
    assert _unlogged(history(), now) == set()

    store(message(ROOMS[0], 5, **{STORED_AT: times.iso(START + UNLOGGED)}))

    assert _unlogged(history(), now) == {ROOMS[0]}


@pytest.mark.usefixtures("table")
def test_a_users_messages_lead_on_from_each_place() -> None:
    found, asked = list[tuple[str, str]](), RoomPageRequest(limit=7)
    while True:
        page = body(history().user(ALICE, "alice", asked))
        found += [(item["key"], item["roomId"]) for item in page["items"]]
        if not page["hasMore"]:
            break
        asked = RoomPageRequest(limit=7, cursor=page["next"])

    assert sorted(found) == sorted((message(room, n)["timestampSk"], room) for room in ROOMS for n in NUMBERS)
    assert [key for key, _ in found] == sorted((key for key, _ in found), reverse=True)


@pytest.mark.usefixtures("table")
@pytest.mark.parametrize(
    ("narrowed", "rooms"),
    [
        ((("roomId", ROOMS[0]),), ROOMS[:1]),
        ((("roomId", ROOMS[1]),), ROOMS[1:]),
        ((("userId", "alice"), ("roomId", ROOMS[0])), ROOMS[:1]),
        ((), ROOMS),
    ],
    ids=["with shards", "without", "of a user", "all"],
)
def test_counts_are_of_rooms_and_exact(narrowed: tuple[tuple[str, str], ...], rooms: tuple[str, ...]) -> None:
    span = Span(START, START + 10 * 60 * times.SECOND)
    scanner = Scanner(MessageColumns(DynamoColumns(columns_client(8))), MESSAGES.name, FixedClock(START))

    (found,) = scanner.start(Scope(CHAT, narrowed), [(span, MINUTE)], time.monotonic() + 60).result()

    whole = Aggregate.nothing(2)
    for each in found.values():
        whole.merge(each)
    assert whole.total == len(rooms) * len(NUMBERS)
    assert whole.tallies[1].counts == dict.fromkeys(rooms, len(NUMBERS))
