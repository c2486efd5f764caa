"""The throttling proxy takes what DynamoDB takes, and refuses the rest as DynamoDB does."""

from __future__ import annotations

import json
from typing import Any

import botocore.session
from aiohttp import web
from botocore.parsers import create_parser

from faults.proxies.http_proxy import Call
from faults.proxies.throttle import Throttled
from headrace.storage.dynamodb.client import THROTTLING_CODES

TABLE = {
    "TableName": "Messages",
    "TableArn": "arn:messages",
    "KeySchema": [{"AttributeName": "room", "KeyType": "HASH"}, {"AttributeName": "at", "KeyType": "RANGE"}],
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "ByUser",
            "KeySchema": [{"AttributeName": "user", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "KEYS_ONLY"},
        }
    ],
}


class Table:
    """A table behind the throttle, at the time ``now``; ``written`` are its items."""

    def __init__(self, description: dict[str, Any] = TABLE, **limits: float) -> None:
        self.now = 0.0
        self.written: list[Any] = []
        self.fault = Throttled([description], monotonic=lambda: self.now, **limits)  # type: ignore[arg-type]

    async def put(self, *items: dict[str, str]) -> tuple[int, dict[str, Any]]:
        """Put ``items`` in one BatchWriteItem; its status and body."""
        wire = [{name: {"S": value} for name, value in item.items()} for item in items]
        requests = [{"PutRequest": {"Item": item}} for item in wire]
        return await self.call("BatchWriteItem", {"RequestItems": {"Messages": requests}})

    async def call(self, action: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        async def forward(sent: bytes) -> web.Response:
            writes = json.loads(sent).get("RequestItems", {"Messages": [json.loads(sent)]})["Messages"]
            self.written += writes
            return web.Response(body=b'{"UnprocessedItems":{}}')

        answer = await self.fault(Call(action, json.dumps(body).encode(), ("127.0.0.1", 1)), forward)
        assert isinstance(answer.body, bytes)
        return answer.status, json.loads(answer.body)


def item(number: int, room: str = "lobby", **more: str) -> dict[str, str]:
    return {"room": room, "at": str(number), **more}


async def test_a_partition_takes_its_units_and_returns_the_other_items_unprocessed() -> None:
    table = Table(partition_units=10)

    status, answer = await table.put(*(item(number) for number in range(25)))

    assert (status, len(table.written), len(answer["UnprocessedItems"]["Messages"])) == (200, 10, 15)
    assert (table.fault.written, table.fault.unprocessed) == (10, 15)


async def test_other_partitions_of_the_table_are_written() -> None:
    table = Table(partition_units=10)
    await table.put(*(item(number) for number in range(10)))

    status, answer = await table.put(item(10), item(11, "kitchen"))

    assert status == 200
    assert [each["PutRequest"]["Item"]["room"]["S"] for each in answer["UnprocessedItems"]["Messages"]] == ["lobby"]


async def test_units_come_back_with_time() -> None:
    table = Table(partition_units=10)
    await table.put(*(item(number) for number in range(10)))

    table.now = 0.5
    _, answer = await table.put(*(item(number) for number in range(10, 20)))

    assert len(answer["UnprocessedItems"]["Messages"]) == 5


async def test_a_table_keeps_unused_units_for_five_minutes() -> None:
    table = Table(table_units=10, partition_units=100_000)
    await table.put(item(0))

    table.now = 1_000
    await table.put(*(item(number) for number in range(4_000)))

    assert len(table.written) == 1 + 3_000


async def test_a_hot_key_of_an_index_throttles_the_table() -> None:
    table = Table(partition_units=10)

    await table.put(*(item(number, f"room-{number}", user="alice") for number in range(25)))

    assert len(table.written) == 10


async def test_an_item_costs_a_unit_per_kilobyte_in_table_and_index() -> None:
    table = Table(partition_units=10)

    await table.put(*(item(number, user="alice", text="x" * 3_000) for number in range(5)))
    await table.put(*(item(number, f"room-{number}", user="alice") for number in range(20)))

    assert len(table.written) == 3 + 7


async def test_a_call_of_which_nothing_fits_is_refused_with_dynamodbs_error() -> None:
    table = Table(table_units=1)
    await table.put(item(0))

    for action, body in (
        ("BatchWriteItem", {"RequestItems": {"Messages": [{"PutRequest": {"Item": {"room": {"S": "a"}}}}]}}),
        ("PutItem", {"TableName": "Messages", "Item": {"room": {"S": "a"}}}),
        ("UpdateItem", {"TableName": "Messages", "Key": {"room": {"S": "a"}}}),
    ):
        status, answer = await table.call(action, body)
        error = parsed(status, answer)

        assert error["Error"]["Code"] == "ThrottlingException"
        assert [each["reason"] for each in error["throttlingReasons"]] == ["TableWriteKeyRangeThroughputExceeded"]
    assert len(table.written) == 1


def parsed(status: int, answer: dict[str, Any]) -> dict[str, Any]:
    """The error as botocore parses it, which the platform must recognize as throttling."""
    model = botocore.session.get_session().get_service_model("dynamodb")
    response = {"status_code": status, "headers": {}, "body": json.dumps(answer).encode()}
    found: dict[str, Any] = create_parser("json").parse(response, model.shape_for("BatchWriteItemOutput"))
    assert found["Error"]["Code"] in THROTTLING_CODES
    return {**answer, "Error": found["Error"]}


async def test_reads_are_forwarded() -> None:
    table = Table(table_units=0)

    assert (await table.call("Query", {"TableName": "Messages"}))[0] == 200
