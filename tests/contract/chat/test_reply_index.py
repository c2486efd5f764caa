"""Pages of replies read the index of the table as they read the memory of the unit tests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from headrace.api.paging.range_walk import ReadBudget, ranges, read_page, spans_of
from headrace.core.items import Item
from headrace.core.times import Interval, iso
from headrace.features.replies.field import thread
from headrace.runtime.aws import client
from headrace.storage.dynamodb.readers import DynamoReader
from headrace.storage.reading import RangeQuery, RangeReader
from headrace.streams.chat.messages.dynamodb import MessageTable
from headrace.streams.chat.messages.shards import MessageReader
from headrace.streams.chat.room_shards import stored
from headrace.streams.chat.stream import REPLY_INDEX, THREAD
from tests.contract.tables import described, index, made
from tests.fakes.storage import MemoryReader

TABLE = "Replies"
T = [iso(1_763_719_258_000_000 + number) for number in range(30)]
KEY = f"{T[0]}#m-0#aaaaaaaaaaaa"

LONGEST = "\U0001f600" * 128


def row(number: int, room: str = "kitchen~4", to: str | None = KEY) -> Item:
    key = f"{T[number]}#m-{number}#aaaaaaaaaaaa"
    found = {"roomId": room, "timestampSk": key, "userId": "alice", "text": str(number)}
    return found | ({THREAD: thread(room, to)} if to else {})


ROWS = [
    *[row(number) for number in range(1, 12)],
    *[row(number, "hall") for number in range(1, 4)],
    *[row(number, to=None) for number in range(12, 20)],
    row(20, to=KEY.replace("m-0", "m-1")),
    row(21, LONGEST, f"{T[0]}#{LONGEST}#aaaaaaaaaaaa"),
]


@pytest.fixture
def table(dynalite: str) -> Iterator[None]:
    by_thread = index(REPLY_INDEX, THREAD, "timestampSk")
    with made(described(TABLE, "roomId", "timestampSk", indexes=(by_thread,))):
        yield


@pytest.fixture(params=["memory", "dynamodb"])
def reader(request: pytest.FixtureRequest) -> RangeReader:
    if request.param == "memory":
        return MessageReader(MemoryReader(lambda _: [stored(each) for each in ROWS]))
    request.getfixturevalue("table")
    dynamodb = client("dynamodb")
    messages = MessageTable(dynamodb, TABLE, "messages")
    for each in ROWS:
        messages.put(each)
    return MessageReader(DynamoReader(dynamodb))


@pytest.mark.parametrize("limit", [1, 3, 4, 200])
@pytest.mark.parametrize("intervals", [None, (Interval(T[2], T[4]), Interval(T[7], None))])
def test_pages_have_the_replies_of_one_message_in_order(reader: RangeReader, limit: int, intervals: Any) -> None:
    rows = RangeQuery(TABLE, THREAD, thread("kitchen~4", KEY), "timestampSk", index=REPLY_INDEX)
    found, place = list[str](), None
    while True:
        spans = spans_of(intervals, None, None)
        page = read_page(reader, ranges(rows, spans, place, False), limit, 0, ReadBudget(reads=64, rows=4000))
        found += [each["text"] for each in page.items]
        if page.more is None:
            break
        place = {"timestampSk": page.more["timestampSk"], "roomId": "kitchen~4"}

    numbers = range(1, 12) if intervals is None else [2, 3, 7, 8, 9, 10, 11]
    assert found == [str(number) for number in numbers]
