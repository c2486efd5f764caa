"""A room with shards in DynamoDB: what was stored since a position, and messages of a user in several rooms."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from headrace.api.paging.cursors import CursorSigner
from headrace.core import times
from headrace.runtime.aws import client
from headrace.storage.dynamodb.readers import DynamoReader
from headrace.storage.ports import Table
from headrace.streams.chat.live.checks import _unlogged
from headrace.streams.chat.messages.dynamodb import MessageTable
from headrace.streams.chat.messages.history import History, RoomPageRequest
from headrace.streams.chat.messages.positions import OVERLAP, STORED_AT, UNLOGGED, position
from headrace.streams.chat.messages.shards import MessageReader
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
        index("LateIndex", "roomId", STORED_AT),
    )
    with made(described(MESSAGES.name, *MESSAGES.key, indexes=indexes)) as dynamodb:
        for room in ROOMS:
            store(*(message(room, number) for number in NUMBERS))
        yield dynamodb


def message(room: str, number: int, **more: Any) -> dict[str, Any]:
    found = row(BEGIN + number / 2, f"m{number}", room=room, **more)
    return found | {"expiresAt": 4_000_000_000}


def store(*rows: dict[str, Any]) -> None:
    """Store messages, also in place of others."""
    messages = MessageTable(client("dynamodb"), MESSAGES.name, "messages")
    for each in rows:
        messages.put(each)


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
