"""One suite for every range reader, so that the unit tests of history read what the table returns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from headrace.runtime.aws import AwsClient, client
from headrace.storage.dynamodb.client import to_wire
from headrace.storage.dynamodb.readers import DynamoReader
from headrace.storage.reading import RangeQuery, RangeReader
from tests.contract.emulators import Emulators, function_environment
from tests.contract.tables import described, index, made
from tests.fakes.storage import MemoryReader

TABLE = "RangesOfMessages"
BY_USER = index("UserIndex", "userId", "timestampSk")
ROWS = [
    {"roomId": room, "timestampSk": f"{second:02d}#{name}#t", "userId": "alice", "expiresAt": second}
    for room in ("kitchen", "lobby", "кафе")
    for second in range(5)
    for name in ("a", "b", "я", "\U0001f600")
]
ROOM = RangeQuery(TABLE, "roomId", "кафе", "timestampSk", limit=3, consistent=True)
USER = RangeQuery(TABLE, "userId", "alice", "timestampSk", index="UserIndex", limit=7)


@pytest.fixture(scope="module")
def on_dynalite(emulators: Emulators) -> Iterator[AwsClient]:
    with pytest.MonkeyPatch.context() as patch:
        function_environment(patch, emulators.dynamodb_url)
        found = client("dynamodb")
        with made(described(TABLE, "roomId", "timestampSk", indexes=(BY_USER,))) as dynamodb:
            for at in range(0, len(ROWS), 25):
                puts = [{"PutRequest": {"Item": to_wire(row)}} for row in ROWS[at : at + 25]]
                assert not dynamodb.batch_write_item(RequestItems={TABLE: puts})["UnprocessedItems"]
            yield found


@pytest.fixture(params=["memory", "dynalite"])
def reader(request: pytest.FixtureRequest) -> RangeReader:
    if request.param == "memory":
        return MemoryReader(lambda _: ROWS)
    return DynamoReader(request.getfixturevalue("on_dynalite"))


def walk(reader: RangeReader, query: RangeQuery) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    while True:
        rows = reader.read(query)
        assert len(rows.items) <= query.limit
        found += rows.items
        if rows.more is None:
            return found
        query = replace(query, start=rows.more)


def key_of(row: dict[str, Any]) -> tuple[Any, Any]:
    """By this, and not by the text of a row: AWS gives the attributes of a row in any order."""
    return row["roomId"], row["timestampSk"]


@pytest.mark.parametrize("newest_first", [True, False])
@pytest.mark.parametrize(
    ("lower", "upper"), [(None, None), ("01", None), (None, "03"), ("01", "03"), ("02", "02"), ("07", "09")]
)
def test_p7_a_walk_visits_a_range_once_in_order_without_its_end(
    reader: RangeReader, newest_first: bool, lower: str | None, upper: str | None
) -> None:
    expected = sorted(
        (row for row in ROWS if row["roomId"] == "кафе" and (lower or "") <= str(row["timestampSk"]) < (upper or "~")),
        key=lambda row: str(row["timestampSk"]),
        reverse=newest_first,
    )

    assert walk(reader, replace(ROOM, newest_first=newest_first, lower=lower, upper=upper)) == expected


def test_a_row_has_only_the_requested_attributes(reader: RangeReader) -> None:
    rows = reader.read(replace(ROOM, attributes=("userId", "message", "expiresAt"), lower="03", unexpired_at=3))

    assert rows.items == [{"userId": "alice", "expiresAt": 4}] * 3
    assert rows.more is not None


@pytest.mark.parametrize("newest_first", [True, False])
def test_p7_a_walk_over_an_index_visits_rows_with_equal_sort_keys_once_each(
    reader: RangeReader, newest_first: bool
) -> None:
    found = walk(reader, replace(USER, newest_first=newest_first))

    keys = [row["timestampSk"] for row in found]
    assert keys == sorted(keys, reverse=newest_first)
    assert sorted(found, key=key_of) == sorted(ROWS, key=key_of)


@pytest.mark.parametrize("newest_first", [True, False])
@pytest.mark.parametrize("query", [ROOM, USER])
@pytest.mark.parametrize("bounds", [(None, None), ("01", "04")])
def test_p7_a_walk_may_start_where_no_row_is(
    reader: RangeReader, query: RangeQuery, newest_first: bool, bounds: tuple[str | None, str | None]
) -> None:
    start = {query.partition_attribute: query.partition, "timestampSk": "02#b#", "roomId": "-"}
    if query is ROOM:
        start["roomId"] = "кафе"
    lower, upper = bounds

    found = walk(reader, replace(query, newest_first=newest_first, lower=lower, upper=upper, start=start))

    assert sorted(row["timestampSk"] for row in found) == sorted(
        row["timestampSk"]
        for row in ROWS
        if row[query.partition_attribute] == query.partition
        and (lower or "") <= str(row["timestampSk"]) < (upper or "~")
        and (str(row["timestampSk"]) < "02#b#") == newest_first
    )


@pytest.mark.parametrize("newest_first", [True, False])
@pytest.mark.parametrize("query", [ROOM, USER])
def test_expired_rows_are_left_out_and_counted_as_read(
    reader: RangeReader, query: RangeQuery, newest_first: bool
) -> None:
    query = replace(query, unexpired_at=2, newest_first=newest_first)

    found = walk(reader, query)
    first = reader.read(query)

    mine = [row for row in ROWS if row[query.partition_attribute] == query.partition]
    assert sorted(found, key=key_of) == sorted((row for row in mine if row["expiresAt"] > 2), key=key_of)
    assert len(first.items) == (query.limit if newest_first else 0)
    assert first.more is not None


def test_several_ranges_are_returned_in_the_order_of_the_request(reader: RangeReader) -> None:
    queries = [replace(ROOM, partition=room) for room in ("lobby", "nowhere", "кафе", "kitchen") * 4]

    assert list(reader.read_many(queries)) == [reader.read(query) for query in queries]


def test_a_partition_without_rows_is_empty(reader: RangeReader) -> None:
    rows = reader.read(replace(ROOM, partition="nowhere"))

    assert (rows.items, rows.more) == ([], None)
