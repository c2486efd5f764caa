"""A room with shards reads like any other room, whatever shards its messages are in."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.api.paging.cursors import CursorSigner
from headrace.core import keys
from headrace.core.times import SECOND
from headrace.storage.ports import EXISTS, Table
from headrace.storage.reading import Columns, Query
from headrace.streams.chat.messages.dynamodb import MessageStore
from headrace.streams.chat.messages.history import History, RoomPageRequest
from headrace.streams.chat.messages.positions import OVERLAP, STORED_AT, position
from headrace.streams.chat.messages.shards import MessageColumns, MessageReader, share
from headrace.streams.chat.room_shards import stored
from tests.fakes.clock import FixedClock
from tests.fakes.storage import MemoryColumns, MemoryReader, MemoryStore
from tests.worlds.history_world import ALICE, START, Rights, at, body, row

ROOM = "stadium~4"
MESSAGES = Table("messages", ("roomId", "timestampSk"))
BEGIN = 2 * OVERLAP // SECOND
"""The second of the first message: the position of START is of before it, and that of BEGIN is not."""

seconds = st.lists(st.integers(BEGIN, BEGIN + 30), min_size=1, max_size=40)
expired = st.sets(st.integers(0, 40), max_size=30)


def rows_of(room: str, seconds: list[int], expired: set[int] | None = None, late: bool = False) -> list[dict[str, Any]]:
    """Messages; those with the numbers ``expired`` are not deleted yet. Half of late ones was stored much later."""
    rows = [row(second, f"m{number}", room=room) for number, second in enumerate(seconds)]
    for number, each in enumerate(rows):
        if number in (expired or ()):
            each["expiresAt"] = 1
        if late and number % 2:
            each[STORED_AT] = at(BEGIN + 200)
    return rows


def pages(rows: list[dict[str, Any]], access: Any = None) -> History:
    """History of rows that are where they belong."""
    reader = MessageReader(MemoryReader(lambda _: [stored(each) for each in rows]))
    return History(reader, CursorSigner(b"k" * 32), "messages", FixedClock(START), access or Rights())


def walk(history: History, room: str, request: dict[str, Any], turn: str = "next", most: int = 100) -> list[Any]:
    """What each page shows of a walk that begins with ``request``."""
    seen = []
    for _ in range(most):
        asked = RoomPageRequest.model_validate({"max_bytes": 10**6, **request})
        page = body(history.room(ALICE, room, asked, asked.since))
        shown = [{name: value for name, value in item.items() if name != "roomId"} for item in page["items"]]
        assert {item["roomId"] for item in page["items"]} <= {room}
        seen.append((shown, page["hasMore"], page["next"] is None, page["previous"] is None))
        if not page["hasMore"] or page[turn] is None:
            return seen
        request = {"cursor": page[turn], "limit": request["limit"]}
    raise AssertionError("the walk does not end")


@given(seconds, expired, st.integers(1, 9))
def test_a_walk_since_a_position_has_each_message_that_was_stored_late_once(
    seconds: list[int], expired: set[int], limit: int
) -> None:
    """Late messages of one shard come after those of another."""
    rows = rows_of(ROOM, seconds, expired, late=True)
    since = position(START + (BEGIN + 100) * SECOND)

    found = walk(pages(rows), ROOM, {"limit": limit, "since": since})

    seen = Counter(item["messageId"] for items, *_ in found for item in items)
    assert seen == Counter(each["messageId"] for each in rows if STORED_AT in each and "expiresAt" not in each)


def test_a_walk_over_many_late_messages_reads_most_of_them_once() -> None:
    rows = [row(BEGIN, f"m{number}", room="stadium~16") | {STORED_AT: at(BEGIN + 200)} for number in range(800)]
    reader = MemoryReader(lambda _: [stored(each) for each in rows])
    history = History(MessageReader(reader), CursorSigner(b"k" * 32), "messages", FixedClock(START), Rights())

    pages_of = walk(history, "stadium~16", {"limit": 20, "since": position(START + (BEGIN + 100) * SECOND)})

    assert sum(len(items) for items, *_ in pages_of) == len(rows)
    assert reader.given < 2 * len(rows)


@pytest.mark.parametrize("limit", [1, 2, 21, 201, 4000])
@pytest.mark.parametrize("shards", [2, 4, 8, 16])
def test_a_shard_is_read_for_its_share_and_some_more(limit: int, shards: int) -> None:
    assert limit / shards < share(limit, shards) <= limit
    assert share(4000, shards) * shards < 1.4 * 4000


def test_a_store_spreads_messages_and_leaves_what_it_was_given() -> None:
    store, items = MemoryStore(), [row(number, f"m{number}", room=ROOM) for number in range(40)]
    changes = {"roomId": f"#changes#{ROOM}", "timestampSk": "#"}

    assert MessageStore(store).put_many(MESSAGES, [*items, changes, items[0]]) == [*[None] * 41, EXISTS]

    assert {each["roomId"] for each in items} == {ROOM}
    assert {key for key, _ in store.tables["messages"]} == {*keys.shards_of(ROOM, 4), changes["roomId"]}
    assert len(store.rows("messages")) == 41
    assert MessageStore(store).put_many(Table("rides", ("skierID",)), [{"skierID": 1}]) == [None]


def test_counts_are_of_rooms() -> None:
    rows = [
        stored({**row(number, f"m{number}", room=room), "expiresAt": 0}) for number, room in enumerate([ROOM, "a~b"])
    ]
    query = Query("messages", "bucketId", "001", "timestampSk", index="TimeIndex", attributes=("userId", "roomId"))

    found: Columns = MessageColumns(MemoryColumns(lambda *_: rows)).read(query)

    assert found.values == {"userId": ["alice", "alice"], "roomId": [ROOM, "a~b"]}
