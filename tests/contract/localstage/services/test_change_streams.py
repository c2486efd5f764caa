"""The emulator's DynamoDB Streams: what a stream has, and for whom."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from localstage.core.model import StageModel, Table
from localstage.template import Live
from localstage.template.provision import provision
from tests.contract.emulators import sdk
from tests.contract.tables import described, drop, index, made

STREAM = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}
ROOMS = {**described("Rooms", "room", "key", indexes=(index("Texts", "text", "key"),)), "StreamSpecification": STREAM}
KEY = {"room": {"S": "kitchen"}, "key": {"S": "1"}}


@pytest.fixture
def dynamodb(dynalite: str) -> Iterator[Any]:
    with made(ROOMS) as client:
        yield client


def row(key: str = "1", text: str = "hello", **more: Any) -> dict[str, Any]:
    return {"room": {"S": "kitchen"}, "key": {"S": key}, "text": {"S": text}, **more}


def stream_of(dynamodb: Any) -> str:
    return str(dynamodb.describe_table(TableName="Rooms")["Table"]["LatestStreamArn"])


def read(dynamodb: Any, **start: str) -> list[dict[str, Any]]:
    """The records of the one shard, two at a time."""
    streams, arn = sdk("dynamodbstreams"), stream_of(dynamodb)
    (shard,) = streams.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"]
    start = start or {"ShardIteratorType": "TRIM_HORIZON"}
    iterator = streams.get_shard_iterator(StreamArn=arn, ShardId=shard["ShardId"], **start)["ShardIterator"]
    found: list[dict[str, Any]] = []
    while records := (answer := streams.get_records(ShardIterator=iterator, Limit=2))["Records"]:
        found += records
        iterator = answer["NextShardIterator"]
    return found


def images(records: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    """Of each record: its name, and the text before and after it."""
    found = [(each["eventName"], each["dynamodb"]) for each in records]
    return [
        (name, *(change.get(image, {}).get("text", {}).get("S", "") for image in ("OldImage", "NewImage")))
        for name, change in found
    ]


def test_a_stream_has_every_change_of_a_row_in_order(dynamodb: Any) -> None:
    dynamodb.put_item(TableName="Rooms", Item=row())
    dynamodb.batch_write_item(RequestItems={"Rooms": [{"PutRequest": {"Item": row(text="moin")}}]})
    dynamodb.update_item(
        TableName="Rooms",
        Key=KEY,
        UpdateExpression="SET #t = :t",
        ExpressionAttributeNames={"#t": "text"},
        ExpressionAttributeValues={":t": {"S": "tach"}},
    )
    dynamodb.delete_item(TableName="Rooms", Key=KEY)

    records = read(dynamodb)
    assert images(records) == [
        ("INSERT", "", "hello"),
        ("MODIFY", "hello", "moin"),
        ("MODIFY", "moin", "tach"),
        ("REMOVE", "tach", ""),
    ]
    numbers = [each["dynamodb"]["SequenceNumber"] for each in records]
    assert numbers == sorted(set(numbers), key=int)
    assert all(each["dynamodb"]["Keys"] == KEY and each["eventSource"] == "aws:dynamodb" for each in records)


def test_a_write_that_changes_nothing_is_in_no_stream(dynamodb: Any) -> None:
    """DynamoDB compares the attributes, whatever their order is."""
    reordered = dict(reversed(row().items()))
    dynamodb.put_item(TableName="Rooms", Item=row())
    dynamodb.batch_write_item(RequestItems={"Rooms": [{"PutRequest": {"Item": reordered}}]})
    with pytest.raises(ClientError):
        dynamodb.put_item(TableName="Rooms", Item=row(text="moin"), ConditionExpression="attribute_not_exists(room)")
    dynamodb.delete_item(TableName="Rooms", Key={**KEY, "key": {"S": "2"}})

    assert images(read(dynamodb)) == [("INSERT", "", "hello")]


def test_only_a_table_with_a_stream_keeps_changes(dynamodb: Any) -> None:
    def switch(**specification: Any) -> None:
        dynamodb.update_table(TableName="Rooms", StreamSpecification=specification)

    switch(StreamEnabled=False)
    dynamodb.put_item(TableName="Rooms", Item=row())
    assert "LatestStreamArn" not in dynamodb.describe_table(TableName="Rooms")["Table"]

    switch(**STREAM)
    dynamodb.put_item(TableName="Rooms", Item=row(text="moin"))
    assert images(read(dynamodb)) == [("MODIFY", "hello", "moin")]
    with pytest.raises(ClientError, match="already enabled"):
        switch(**STREAM)


async def test_the_stage_switches_the_stream_of_a_table_on_and_off(dynalite: str) -> None:
    live = Live("amqp://127.0.0.1:1", "127.0.0.1", 1, "http://127.0.0.1:1", dynalite, "", "", "", "")
    dynamodb = sdk("dynamodb")
    plain = {name: value for name, value in ROOMS.items() if name != "StreamSpecification"}
    for definition in (plain, ROOMS, ROOMS, plain, plain, ROOMS):
        model = StageModel(tables={"Rooms": Table("Rooms", "Rooms", definition, None)})
        await provision(model, live=live, base_environment={"AWS_ACCESS_KEY_ID": "test"})

        table = dynamodb.describe_table(TableName="Rooms")["Table"]
        assert table.get("StreamSpecification") == definition.get("StreamSpecification")
    drop(dynamodb, "Rooms")
