"""One suite for every reader of ranges: what history walks over in the unit tests is what the table gives."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from rabbit import free_port

from headrace.aws import client
from headrace.errors import StoreUnavailable
from headrace.items import to_wire
from headrace.readers import RangeQuery, RangeReader
from headrace.readers.dynamodb import DynamoReader
from headrace.readers.memory import MemoryReader

TABLE = "Messages"
ROWS = [
    {"roomId": room, "timestampSk": f"{second:02d}#{name}#t", "userId": "alice", "expiresAt": second}
    for room in ("kitchen", "lobby", "кафе")
    for second in range(5)
    for name in ("a", "b", "я", "\U0001f600")
]
ROOM = RangeQuery(TABLE, "roomId", "кафе", "timestampSk", limit=3, consistent=True)
USER = RangeQuery(TABLE, "userId", "alice", "timestampSk", index="UserIndex", limit=7)


@pytest.fixture
def table(aws: str) -> Iterator[Any]:
    dynamodb = client("dynamodb", timeout=30, attempts=1)  # a first call loads much of the emulator
    dynamodb.create_table(
        TableName=TABLE,
        KeySchema=[
            {"AttributeName": "roomId", "KeyType": "HASH"},
            {"AttributeName": "timestampSk", "KeyType": "RANGE"},
        ],
        AttributeDefinitions=[
            {"AttributeName": name, "AttributeType": "S"} for name in ("roomId", "timestampSk", "userId")
        ],
        GlobalSecondaryIndexes=[
            {
                "IndexName": "UserIndex",
                "KeySchema": [
                    {"AttributeName": "userId", "KeyType": "HASH"},
                    {"AttributeName": "timestampSk", "KeyType": "RANGE"},
                ],
                "Projection": {"ProjectionType": "ALL"},
            }
        ],
        BillingMode="PAY_PER_REQUEST",
    )
    for row in ROWS:
        dynamodb.put_item(TableName=TABLE, Item=to_wire(row))
    yield dynamodb
    dynamodb.delete_table(TableName=TABLE)
    dynamodb.close()


@pytest.fixture(params=["memory", "dynamodb"])
def reader(request: pytest.FixtureRequest) -> RangeReader:
    if request.param == "memory":
        return MemoryReader(lambda _: ROWS)
    return DynamoReader(request.getfixturevalue("table"))


def walk(reader: RangeReader, query: RangeQuery) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    while True:
        rows = reader.read(query)
        assert len(rows.items) <= query.limit
        found += rows.items
        if rows.more is None:
            return found
        query = replace(query, start=rows.more)


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


@pytest.mark.parametrize("newest_first", [True, False])
def test_p7_a_walk_over_an_index_visits_rows_with_equal_sort_keys_once_each(
    reader: RangeReader, newest_first: bool
) -> None:
    found = walk(reader, replace(USER, newest_first=newest_first))

    keys = [row["timestampSk"] for row in found]
    assert keys == sorted(keys, reverse=newest_first)
    assert sorted(found, key=str) == sorted(ROWS, key=str)


def test_a_partition_without_rows_is_empty(reader: RangeReader) -> None:
    rows = reader.read(replace(ROOM, partition="nowhere"))

    assert (rows.items, rows.more) == ([], None)


def test_a_table_that_is_away_or_missing_is_said_to_be(aws: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(StoreUnavailable):
        DynamoReader(client("dynamodb", attempts=1)).read(ROOM)

    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{free_port()}")
    with pytest.raises(StoreUnavailable):
        DynamoReader(client("dynamodb", attempts=1)).read(ROOM)
