"""One suite for every column reader, so that the unit tests of analytics count what the table returns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from headrace.storage.dynamodb.client import to_wire
from headrace.storage.dynamodb.readers import DynamoColumns, columns_client
from headrace.storage.reading import ColumnReader, Query
from tests.contract.emulators import Emulators, function_environment
from tests.contract.tables import described, index, made
from tests.fakes.storage import MemoryColumns

TABLE = "CountedMessages"
PADDING = "x" * 900
ROWS: list[dict[str, Any]] = [
    {
        "roomId": f"room-{number % 3}",
        "timestampSk": f"2025-11-21T10:{number // 60 % 60:02d}:{number % 60:02d}.000000Z#я{number}#t",
        "userId": f"user-{number % 7}{PADDING}",
        "bucketId": f"{number % 2:03d}",
        **({"expiresAt": 1_800_000_000 + number} if number % 5 else {}),
    }
    for number in range(2600)
]
FIRST, LAST = "2025-11-21T10:00:00.000000Z", "2025-11-21T11:00:00.000000Z"
QUERY = Query(
    TABLE,
    "bucketId",
    "001",
    "timestampSk",
    index="TimeIndex",
    lower=FIRST,
    upper=LAST,
    attributes=("userId", "roomId"),
)


@pytest.fixture(scope="module")
def filled(emulators: Emulators) -> Iterator[None]:
    """A table in the local stage's DynamoDB, with more rows in a partition than a page holds."""
    with pytest.MonkeyPatch.context() as patch:
        function_environment(patch, emulators.dynamodb_url)
        by_time = index("TimeIndex", "bucketId", "timestampSk", projected=("userId", "expiresAt"))
        with made(described(TABLE, "roomId", "timestampSk", indexes=(by_time,))) as dynamodb:
            for at in range(0, len(ROWS), 25):
                puts = [{"PutRequest": {"Item": to_wire(row)}} for row in ROWS[at : at + 25]]
                dynamodb.batch_write_item(RequestItems={TABLE: puts})
            yield


@pytest.fixture(params=["memory", "dynamodb"])
def reader(request: pytest.FixtureRequest) -> ColumnReader:
    if request.param == "memory":
        return MemoryColumns(lambda *_: ROWS)
    request.getfixturevalue("dynalite")
    request.getfixturevalue("filled")
    return DynamoColumns(columns_client(2))


def walk(reader: ColumnReader, query: Query) -> list[tuple[str, str, str, int]]:
    found: list[tuple[str, str, str, int]] = []
    while True:
        page = reader.read(query)
        assert page.units > 0
        found += zip(page.keys, page.values["userId"], page.values["roomId"], page.expires, strict=True)
        if page.more is None:
            return found
        query = replace(query, start=page.more)


def expected(**fits: str) -> list[tuple[str, str, str, int]]:
    return sorted(
        (row["timestampSk"], row["userId"], row["roomId"], row.get("expiresAt", 0))
        for row in ROWS
        if all(row[name] == value for name, value in fits.items())
    )


def test_every_row_of_a_partition_is_read_once_in_order_over_all_pages(reader: ColumnReader) -> None:
    """Fault 9: analytics that read only the first page."""
    assert reader.read(QUERY).more is not None
    assert walk(reader, QUERY) == expected(bucketId="001")


def test_the_table_itself_is_read_as_its_index_is(reader: ColumnReader) -> None:
    query = replace(QUERY, index=None, partition_attribute="roomId", partition="room-2")

    assert walk(reader, query) == expected(roomId="room-2")


def test_a_range_has_its_start_and_not_its_end(reader: ColumnReader) -> None:
    query = replace(QUERY, lower="2025-11-21T10:00:01.000000Z", upper="2025-11-21T10:00:03.000000Z")

    assert [key for key, *_ in walk(reader, query)] == ["2025-11-21T10:00:01.000000Z#я1#t"]


def test_a_partition_without_rows_is_an_empty_page(reader: ColumnReader) -> None:
    page = reader.read(replace(QUERY, partition="007"))

    assert (page.keys, page.expires, page.more) == ([], [], None)
