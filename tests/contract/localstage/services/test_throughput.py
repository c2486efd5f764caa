"""The emulator of DynamoDB limits the throughput of a partition key and of a table when given limits."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest

from localstage.core.errors import ServiceError
from localstage.services import Services, install
from localstage.services.services import WRITES_PER_KEY
from tests.contract.emulators import INSTALLED
from tests.contract.localstage.services.dynalite_harness import run
from tests.contract.tables import described, index

FULL = "ProvisionedThroughputExceededException"
ROWS = described("Rows", "id", "at", indexes=(index("OwnerIndex", "owner", "at"),))
Call = tuple[int, str, dict[str, Any]]
Outcome = dict[str, Any] | str


def row(id: str, at: int, owner: str = "") -> dict[str, Any]:
    named = {"owner": {"S": owner}} if owner else {}
    return {"id": {"S": id}, "at": {"S": f"{at:03d}"}, **named}


def put(*rows: dict[str, Any], at: int = 0) -> Call:
    return (at, "batchWriteItem", {"RequestItems": {"Rows": [{"PutRequest": {"Item": each}} for each in rows]}})


def put_one(item: dict[str, Any], at: int = 0) -> Call:
    return (at, "putItem", {"TableName": "Rows", "Item": item})


def get(*keys: dict[str, Any], at: int = 0) -> Call:
    return (at, "batchGetItem", {"RequestItems": {"Rows": {"Keys": list(keys), "ConsistentRead": True}}})


def query(name: str, value: str, at: int = 0, **more: Any) -> Call:
    values = {":v": {"S": value}}
    condition = {"KeyConditionExpression": "#k = :v", "ExpressionAttributeNames": {"#k": name}}
    return (at, "query", {"TableName": "Rows", **condition, "ExpressionAttributeValues": values, **more})


async def outcomes(folder: Path, limit: int, *calls: Call) -> list[Outcome]:
    """What an emulator with this limit for a key answers to the calls, after the table was made."""
    packages = await install.ensure_node_packages(INSTALLED)
    text = json.dumps([(0, "createTable", ROWS), *calls])
    found: list[Outcome] = await asyncio.to_thread(
        run, "limited_calls.cjs", packages, folder, text, HEADRACE_WRITES_PER_KEY=str(limit)
    )
    return found[1:]


def unprocessed(outcome: Outcome) -> int:
    """How many rows of a batch were left."""
    assert isinstance(outcome, dict), outcome
    return len(outcome["UnprocessedItems"].get("Rows", ()))


async def test_a_full_key_is_throttled_and_no_other_and_its_units_come_back(tmp_path: Path) -> None:
    found = await outcomes(
        tmp_path,
        2,
        put_one(row("a", 1)),
        put_one(row("a", 2)),
        put_one(row("a", 3)),
        put_one(row("b", 3)),
        put_one(row("a", 3), at=500),
        put_one(row("a", 4), at=500),
        (500, "updateItem", {"TableName": "Rows", "Key": row("a", 1), "UpdateExpression": "SET x = :x",
                             "ExpressionAttributeValues": {":x": {"S": "x"}}}),
        (500, "deleteItem", {"TableName": "Rows", "Key": row("a", 1)}),
        put_one(row("a", 5), at=60_000),
        put_one(row("a", 6), at=60_000),
        put_one(row("a", 7), at=60_000),
        query("id", "a", at=60_000),
    )  # fmt: skip

    assert [each if isinstance(each, str) else "" for each in found[:-1]] == [
        *("", "", FULL, ""),  # 2 units are there at once
        *("", FULL, FULL, FULL),  # after half a second, one is back
        *("", "", FULL),  # after a minute no more than those of a second
    ]
    assert isinstance(found[-1], dict)
    assert [each["at"]["S"] for each in found[-1]["Items"]] == ["001", "002", "003", "005", "006"]


async def test_a_batch_leaves_the_rows_of_a_full_key_and_is_refused_if_nothing_is_left(tmp_path: Path) -> None:
    rows = [row(id, at) for at in range(3) for id in ("a", "b")]

    found = await outcomes(tmp_path, 2, put(*rows, row("c", 0)), put(row("a", 9), row("b", 9)), put(*rows[4:], at=1000))

    assert isinstance(found[0], dict)
    left = found[0]["UnprocessedItems"]["Rows"]
    assert [each["PutRequest"]["Item"] for each in left] == rows[4:]
    assert found[1] == FULL
    assert unprocessed(found[2]) == 0


@pytest.mark.parametrize(
    ("given", "refusal"),
    [
        ({WRITES_PER_KEY: "many"}, f"{WRITES_PER_KEY} is 'many'; it must be a whole number"),
        ({WRITES_PER_KEY: "-1"}, f"{WRITES_PER_KEY} is '-1'; it must be a whole number"),
        ({WRITES_PER_KEY: "1.5"}, f"{WRITES_PER_KEY} is '1.5'; it must be a whole number"),
        ({WRITES_PER_KEY: "²"}, f"{WRITES_PER_KEY} is '²'; it must be a whole number"),
        (
            {WRITES_PER_KEY: "1000", "LOCALSTAGE_DYNAMODB_URL": "http://127.0.0.1:9"},
            f"{WRITES_PER_KEY} is for the stage's emulator, not for LOCALSTAGE_DYNAMODB_URL",
        ),
    ],
)
async def test_a_limit_that_cannot_be_kept_is_refused_with_a_sentence(
    tmp_path: Path, given: dict[str, str], refusal: str
) -> None:
    environ = {"PATH": os.environ["PATH"], **given}
    services = Services(tmp_path, broker_username="headrace", broker_password="secret", environ=environ)

    with pytest.raises(ServiceError, match=refusal):
        await services.start()
