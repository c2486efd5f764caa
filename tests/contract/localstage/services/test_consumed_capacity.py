"""The DynamoDB emulator counts units by the rules of DynamoDB, and a load test reads them.

The rules: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html and, for indexes,
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/GSI.html#GSI.ThroughputConsiderations
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from loadtest.samples.capacity import ConsumedCapacity
from localstage.core.statefile import Running, StateFile
from tests.contract.emulators import Emulators, function_environment
from tests.contract.tables import described, index, made

TABLE = "headrace-test-RowsTable"
ROWS = described(TABLE, "id", indexes=(index("Whole", "owner"), index("Keys", "owner", projected=())))
TOKEN = "a-session-token"
KILOBYTE = 1024
RUNNING = Running(1, "http://h", "ws://w", "i", "t", "s", 0.0)
Call = Callable[[Any], object]


def row(id: str, owner: str = "", size: int = 100, **more: str) -> dict[str, Any]:
    """A row of about ``size`` bytes; without an owner it is in no index."""
    named = {"owner": owner} if owner else {}
    return {name: {"S": value} for name, value in {"id": id, "text": "x" * size, **named, **more}.items()}


def put(*rows: dict[str, Any]) -> Call:
    return lambda client: client.batch_write_item(
        RequestItems={TABLE: [{"PutRequest": {"Item": each}} for each in rows]}
    )


def put_one(item: dict[str, Any], **more: Any) -> Call:
    return lambda client: client.put_item(TableName=TABLE, Item=item, **more)


def get(*ids: str, **more: Any) -> Call:
    keys = {"Keys": [{"id": {"S": id}} for id in ids], **more}
    return lambda client: client.batch_get_item(RequestItems={TABLE: keys})


def query(owner: str, values: dict[str, Any] | None = None, **more: Any) -> Call:
    return lambda client: client.query(
        TableName=TABLE,
        IndexName="Whole",
        KeyConditionExpression="#o = :o",
        ExpressionAttributeNames={"#o": "owner"},
        ExpressionAttributeValues={":o": {"S": owner}, **(values or {})},
        **more,
    )


def refused(call: Callable[..., Call], *arguments: Any, condition: str = "attribute_not_exists(id)") -> Call:
    def refuse(client: Any) -> None:
        with pytest.raises(client.exceptions.ConditionalCheckFailedException):
            call(*arguments, ConditionExpression=condition)(client)

    return refuse


def delete(id: str, **more: Any) -> Call:
    return lambda client: client.delete_item(TableName=TABLE, Key={"id": {"S": id}}, **more)


def rename(id: str, owner: str, **more: Any) -> Call:
    return lambda client: client.update_item(
        TableName=TABLE,
        Key={"id": {"S": id}},
        UpdateExpression="SET #o = :o",
        ExpressionAttributeNames={"#o": "owner"},
        ExpressionAttributeValues={":o": {"S": owner}},
        **more,
    )


# The table has one index with whole rows and one with keys alone. Before each call it holds "old" of ann, and "big" of
# ann with 5 KB.
WRITES: dict[str, tuple[Call, float]] = {
    "a new row without an index entry": (put(row("new")), 1),
    "a new row with two index entries": (put(row("new", "ann")), 3),
    "two new rows": (put(row("new", "ann"), row("newer", "ann")), 6),
    "the same row again changes no index": (put(row("old", "ann")), 1),
    "an attribute that one index has": (put(row("old", "ann", note="changed")), 2),
    "another owner: two entries deleted, two put": (put(row("old", "ben")), 5),
    "no owner any more": (put(row("old")), 3),
    "a row of 5 KB": (put(row("new", "ann", 5 * KILOBYTE - 50)), 5 + 5 + 1),
    "a row that becomes small costs what it was": (put(row("big", "ann")), 6 + 6),
    "one row": (put_one(row("new", "ann")), 3),
    "one row with another owner": (rename("old", "ben"), 5),
    "a larger row with another owner": (rename("big", "ben"), 6 + 2 * (6 + 1)),
    "a refused row costs the larger one that is there": (refused(put_one, row("big")), 6),
    "a refused row costs as much as it is larger": (refused(put_one, row("old", size=3 * KILOBYTE)), 4),
    "a refused row that is not there": (refused(put_one, row("new"), condition="attribute_exists(id)"), 1),
    "a refused update": (refused(rename, "big", "ben"), 6),
    "a refused delete": (refused(delete, "big"), 6),
    "bytes of UTF-8 count": (put(row("new", text="ä" * KILOBYTE)), 3),
    "a deleted row": (delete("big"), 6 + 6 + 1),
    "a deleted row that was not there": (delete("nothing"), 1),
}
READS: dict[str, tuple[Call, float]] = {
    "a small row": (get("old"), 0.5),
    "a small row, consistent": (get("old", ConsistentRead=True), 1),
    "a row that is not there": (get("nothing"), 0.5),
    "two rows are rounded up one by one": (get("old", "big"), 0.5 + 1),
    "a query is rounded up once": (query("ann"), 1),
    "a query of one row": (query("ann", Limit=1), 1),
    "a scan": (lambda client: client.scan(TableName=TABLE), 1),
    "a query that finds nothing": (query("nobody"), 0.5),
    "a filter reads what it drops": (query("ann", {":i": {"S": "old"}}, FilterExpression="id = :i"), 1),
}


@pytest.fixture(scope="module")
def client(emulators: Emulators) -> Iterator[Any]:
    with pytest.MonkeyPatch.context() as patch:
        function_environment(patch, emulators.dynamodb_url)
        with made(ROWS) as client:
            yield client


@pytest.fixture
def rows(client: Any) -> None:
    for id in ("old", "big", "new", "newer"):
        delete(id)(client)
    put(row("old", "ann"), row("big", "ann", 5 * KILOBYTE))(client)


@pytest.fixture
def stage(tmp_path: Path, emulators: Emulators) -> Iterator[Path]:
    """The folder of a running stage with the emulator."""
    state_file = StateFile(tmp_path)
    state_file.acquire()
    state_file.write(RUNNING, {"f": {"AWS_ENDPOINT_URL_DYNAMODB": emulators.dynamodb_url, "AWS_SESSION_TOKEN": TOKEN}})
    yield tmp_path
    state_file.release()


@pytest.mark.parametrize("name", [*WRITES, *READS])
def test_a_call_consumes_the_units_of_dynamodb(name: str, client: Any, rows: None, stage: Path) -> None:
    capacity = ConsumedCapacity(stage)
    call, units = (WRITES | READS)[name]

    call(client)

    kind, other = ("write", "read") if name in WRITES else ("read", "write")
    found = capacity.take(0.5)
    assert capacity.known
    assert (found[f"RowsTable {kind}"], found[f"RowsTable {other}"]) == (units * 2, 0)
    assert set(capacity.take(0.5).values()) == {0}
