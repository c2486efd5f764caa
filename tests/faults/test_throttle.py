"""The throttling proxy takes what DynamoDB takes, and refuses the rest as DynamoDB does."""

from __future__ import annotations

import json
from typing import Any

from aiohttp import web

from faults.proxies.http_proxy import Call
from faults.proxies.throttle import WRITES, Throttled
from headrace.storage.dynamodb.batch_writer import _insert


class Table:
    """A table behind the throttle, at the time ``now``; ``written`` are its items."""

    def __init__(self, units: float) -> None:
        self.now = 0.0
        self.written: list[Any] = []
        self.fault = Throttled(units, monotonic=lambda: self.now)

    async def put(self, *rows: dict[str, str]) -> list[str]:
        """Insert ``rows`` in one call; the error of each, empty without one."""
        statements = [_insert("Messages", row) for row in rows]
        return [
            each["Error"]["Code"] if "Error" in each else ""
            for each in (await self.call(WRITES, {"Statements": statements}))["Responses"]
        ]

    async def call(self, action: str, body: dict[str, Any]) -> dict[str, Any]:
        async def forward(sent: bytes) -> web.Response:
            statements = json.loads(sent).get("Statements", [])
            self.written += statements
            return web.Response(
                body=json.dumps({"Responses": [{"TableName": "Messages"} for _ in statements]}).encode()
            )

        answer = await self.fault(Call(action, json.dumps(body).encode(), ("127.0.0.1", 1)), forward)
        assert isinstance(answer.body, bytes)
        assert answer.status == 200
        found: dict[str, Any] = json.loads(answer.body)
        return found


def item(number: int, room: str = "lobby", **more: str) -> dict[str, str]:
    return {"roomId": room, "at": str(number), **more}


async def test_a_room_takes_its_units_and_the_other_rows_are_throttled() -> None:
    table = Table(10)

    errors = await table.put(*(item(number) for number in range(25)), item(25, "kitchen"))

    assert errors == [*[""] * 10, *["ThrottlingError"] * 15, ""]
    assert len(table.written) == 11
    assert (table.fault.written, table.fault.refused) == (11, 15)


async def test_units_come_back_with_time() -> None:
    table = Table(10)
    await table.put(*(item(number) for number in range(10)))

    table.now = 0.5

    assert (await table.put(*(item(number) for number in range(10, 20)))).count("") == 5


async def test_a_row_costs_a_unit_per_kilobyte() -> None:
    table = Table(10)

    await table.put(*(item(number, text="x" * 3_000) for number in range(5)))

    assert len(table.written) == 3


async def test_a_call_of_which_nothing_fits_is_not_forwarded() -> None:
    table = Table(1)
    await table.put(item(0))

    assert await table.put(item(1)) == ["ThrottlingError"]
    assert len(table.written) == 1


async def test_reads_are_forwarded() -> None:
    assert await Table(0).call("Query", {"TableName": "Messages"}) == {"Responses": []}
