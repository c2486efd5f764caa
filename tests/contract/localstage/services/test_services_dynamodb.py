"""What the emulator of DynamoDB keeps, and what it lets go."""

from __future__ import annotations

import asyncio
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import BotoCoreError, ClientError

from localstage.services import install
from tests.contract.emulators import INSTALLED, sdk
from tests.contract.localstage.services.dynalite_harness import WRITERS, running
from tests.contract.tables import described, index, made

SECONDS = 1.0
TABLE = described("Rows", "id", indexes=(index("OwnerIndex", "owner"),))
BY_OWNER = described("RowsByOwner", "id", indexes=(index("OwnerIndex", "owner", projected=()),))


def write_until_killed(client: Any, writer: int) -> dict[str, set[str]]:
    """Give rows another owner with each batch; the owners that each row may have: acknowledged last, or sent since."""
    owners: dict[str, set[str]] = {}
    for number in range(100_000):
        rows = {f"{writer}-{at}": f"{number}-{at}" for at in range(number % 3, 12)}
        for row, owner in rows.items():
            owners.setdefault(row, set()).add(owner)
        requests = [{"PutRequest": {"Item": {"id": {"S": row}, "owner": {"S": owner}}}} for row, owner in rows.items()]
        try:
            client.batch_write_item(RequestItems={"Rows": requests})
        except BotoCoreError:
            return owners
        owners |= {row: {owner} for row, owner in rows.items()}
    raise AssertionError("the emulator was not killed")


async def test_acknowledged_rows_and_their_index_entries_survive_a_kill(tmp_path: Path) -> None:
    """A row and its index entries are in one batch of LevelDB, and none is acknowledged before it."""
    packages = await install.ensure_node_packages(INSTALLED)
    with running(packages, tmp_path) as (client, process), ThreadPoolExecutor(WRITERS) as threads:
        client.create_table(**TABLE)
        client.get_waiter("table_exists").wait(TableName="Rows", WaiterConfig={"Delay": 1})
        jobs = [threads.submit(write_until_killed, client, writer) for writer in range(WRITERS)]
        await asyncio.sleep(SECONDS)
        process.send_signal(signal.SIGKILL)
        sent = {row: owners for job in jobs for row, owners in job.result().items()}

    with running(packages, tmp_path) as (client, _):
        rows = {row["id"]["S"]: row["owner"]["S"] for row in client.scan(TableName="Rows")["Items"]}
        entries = client.scan(TableName="Rows", IndexName="OwnerIndex")["Items"]

    assert {row for row, owner in rows.items() if owner not in sent[row]} == set()
    assert {row for row, owners in sent.items() if len(owners) == 1} <= rows.keys()
    assert max(int(owner.partition("-")[0]) for owner in rows.values()) > 0
    found = [(row["id"]["S"], row["owner"]["S"]) for row in entries]
    assert sorted(found) == sorted(rows.items())


@pytest.mark.parametrize(
    "more", [{"ProjectionExpression": "id, #text"}, {"FilterExpression": "attribute_exists(#text)"}]
)
def test_an_attribute_that_an_index_lacks_is_refused(dynalite: str, more: dict[str, str]) -> None:
    """dynalite leaves it out. On AWS the call fails, so a function that makes it must fail on the stage too."""
    name, names = BY_OWNER["TableName"], {"#owner": "owner"}
    query = {"TableName": name, "IndexName": "OwnerIndex", "KeyConditionExpression": "#owner = :a"}
    query["ExpressionAttributeValues"] = {":a": {"S": "a"}}
    with made(BY_OWNER) as client:
        client.put_item(TableName=name, Item={each: {"S": "a"} for each in ("id", "owner", "text")})

        read = client.query(**query, ProjectionExpression="id", ExpressionAttributeNames=names)
        with pytest.raises(ClientError, match=r"index OwnerIndex does not project \[text\]"):
            client.query(**query, **more, ExpressionAttributeNames={**names, "#text": "text"})

    assert read["Items"] == [{"id": {"S": "a"}}]


OPERATORS = " OR ".join(["#id = :v"] * 151)


@pytest.mark.parametrize(
    ("message", "call"),
    [
        ("KeyConditionExpression has more than 4096 bytes", {"KeyConditionExpression": "#id = :" + "v" * 4090}),
        ("FilterExpression has more than 300 operators", {"FilterExpression": OPERATORS}),
        ("the key :v is empty", {"ExpressionAttributeValues": {":v": {"S": ""}}}),
        ("the key id has more than 2048 bytes", {"ExclusiveStartKey": {"id": {"S": "я" * 1025}}}),
    ],
)
def test_a_call_beyond_the_limits_of_dynamodb_is_refused(dynalite: str, message: str, call: dict[str, Any]) -> None:
    """dynalite takes it, so a mistake of a function would show on AWS only."""
    client = sdk("dynamodb")
    query = {
        "KeyConditionExpression": "#id = :v",
        "ExpressionAttributeNames": {"#id": "id"},
        "ExpressionAttributeValues": {":v": {"S": "a"}},
    }

    with pytest.raises(ClientError, match=message):
        client.query(TableName="Rows", **{**query, **call})

    client.close()
