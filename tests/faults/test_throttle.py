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


class Table:
    """A table behind the throttle, at the time ``now``; ``written`` are its items."""

    def __init__(self, units: float) -> None:
        self.now = 0.0
        self.written: list[Any] = []
        self.fault = Throttled(units, monotonic=lambda: self.now)

    async def put(self, *items: dict[str, str]) -> tuple[int, dict[str, Any]]:
        """Put ``items`` in one BatchWriteItem; its status and body."""
        wire = [{name: {"S": value} for name, value in item.items()} for item in items]
        requests = [{"PutRequest": {"Item": item}} for item in wire]
        return await self.call("BatchWriteItem", {"RequestItems": {"Messages": requests}})

    async def call(self, action: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        async def forward(sent: bytes) -> web.Response:
            self.written += json.loads(sent).get("RequestItems", {}).get("Messages", [])
            return web.Response(body=b'{"UnprocessedItems":{}}')

        answer = await self.fault(Call(action, json.dumps(body).encode(), ("127.0.0.1", 1)), forward)
        assert isinstance(answer.body, bytes)
        return answer.status, json.loads(answer.body)


def item(number: int, room: str = "lobby", **more: str) -> dict[str, str]:
    return {"roomId": room, "at": str(number), **more}


async def test_a_room_takes_its_units_and_the_other_items_are_returned_unprocessed() -> None:
    table = Table(10)

    status, answer = await table.put(*(item(number) for number in range(25)), item(25, "kitchen"))

    assert (status, len(table.written), len(answer["UnprocessedItems"]["Messages"])) == (200, 11, 15)
    assert (table.fault.written, table.fault.unprocessed) == (11, 15)


async def test_units_come_back_with_time() -> None:
    table = Table(10)
    await table.put(*(item(number) for number in range(10)))

    table.now = 0.5
    _, answer = await table.put(*(item(number) for number in range(10, 20)))

    assert len(answer["UnprocessedItems"]["Messages"]) == 5


async def test_an_item_costs_a_unit_per_kilobyte() -> None:
    table = Table(10)

    await table.put(*(item(number, text="x" * 3_000) for number in range(5)))

    assert len(table.written) == 3


async def test_a_call_of_which_nothing_fits_is_refused_with_dynamodbs_error() -> None:
    table = Table(1)
    await table.put(item(0))

    assert code(*(await table.put(item(1)))) in THROTTLING_CODES
    assert len(table.written) == 1


def code(status: int, answer: dict[str, Any]) -> str:
    """The error's code as botocore parses it, which the platform must recognize as throttling."""
    model = botocore.session.get_session().get_service_model("dynamodb")
    response = {"status_code": status, "headers": {}, "body": json.dumps(answer).encode()}
    found: dict[str, Any] = create_parser("json").parse(response, model.shape_for("BatchWriteItemOutput"))
    return str(found["Error"]["Code"])


async def test_reads_are_forwarded() -> None:
    assert (await Table(0).call("Query", {"TableName": "Messages"}))[0] == 200
