"""The mapping of a table's stream, against the emulator of DynamoDB: order, repeats, and what is given up."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from aws_lambda_powertools.utilities.data_classes import DynamoDBStreamEvent

from localstage.core.invoker import Invocation
from localstage.core.model import StreamMapping
from localstage.triggers.sqs_queue import SqsQueue, make_client
from localstage.triggers.stream import Checkpoint, StreamTrigger
from localstage.triggers.table_stream import TableStream, make_stream_clients, number_of
from tests.contract.localstage.triggers.trigger_fakes import (
    FAILED,
    OK,
    Call,
    FakeFunctions,
    answering,
    eventually,
    fake_functions,  # noqa: F401 - a fixture
)
from tests.contract.tables import described, made

KEYS = ("test", "test", None)
TABLE = {
    **described("Told", "room", "key"),
    "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
}
Make = Callable[..., StreamTrigger]


@pytest.fixture
def dynamodb(dynalite: str) -> Iterator[Any]:
    with made(TABLE) as client:
        yield client


@pytest.fixture
async def make(dynalite: str, dynamodb: Any, functions: FakeFunctions, tmp_path: Path) -> AsyncIterator[Make]:
    triggers: list[StreamTrigger] = []

    def new(failures: SqsQueue | None = None, **settings: Any) -> StreamTrigger:
        given = {"batch_size": 3, "lanes": 4, "partial_response": True, **settings}
        stream = TableStream("Told", partial(make_stream_clients, dynalite, "us-east-1", KEYS))
        checkpoint = Checkpoint(tmp_path / "Mapping.checkpoint")
        mapping = StreamMapping("Mapping", "Tell", "Table", **given)
        triggers.append(StreamTrigger(mapping, functions, stream, checkpoint, failures))
        return triggers[-1]

    yield new
    for trigger in triggers:
        await trigger.stop()


def put(dynamodb: Any, room: str, *keys: int) -> None:
    for key in keys:
        dynamodb.put_item(TableName="Told", Item={"room": {"S": room}, "key": {"S": f"{key:02d}"}})


def keys_of(call: Call) -> list[int]:
    return [int(record["dynamodb"]["Keys"]["key"]["S"]) for record in call.records]


def all_keys(functions: FakeFunctions) -> list[int]:
    return [key for call in functions.calls for key in keys_of(call)]


async def test_a_change_reaches_the_function_in_the_shape_that_lambda_gives_it(dynamodb, functions, make):
    put(dynamodb, "kitchen", 1)

    await make().start()
    await functions.until(lambda: bool(functions.calls))

    (record,) = DynamoDBStreamEvent(functions.calls[0].event).records
    assert record.event_source == "aws:dynamodb"
    assert record.event_source_arn.split("/")[1:3] == ["Told", "stream"]
    assert record.dynamodb.new_image == {"room": "kitchen", "key": "01"}
    assert record.dynamodb.keys == record.dynamodb.new_image
    assert record.event_name.name == "INSERT"
    assert abs(record.dynamodb.approximate_creation_date_time - time.time()) < 60
    assert record.user_identity is None or not record.user_identity


async def test_a_write_that_changes_nothing_is_no_change(dynamodb, functions, make):
    put(dynamodb, "kitchen", 1, 1, 2)

    await make().start()
    await functions.until(lambda: len(all_keys(functions)) >= 2)

    assert all_keys(functions) == [1, 2]


async def test_changes_of_one_partition_stay_in_order_and_others_run_beside_them(dynamodb, functions, make):
    rooms = [f"room-{number}" for number in range(8)]
    for key in range(6):
        for room in rooms:
            put(dynamodb, room, key)

    await make().start()
    await functions.until(lambda: len(all_keys(functions)) == 48)

    for room in rooms:
        records = [record for call in functions.calls for record in call.records]
        found = [one["dynamodb"]["Keys"] for one in records if one["dynamodb"]["Keys"]["room"]["S"] == room]
        assert [int(each["key"]["S"]) for each in found] == list(range(6))
    assert max(len(call.records) for call in functions.calls) == 3


async def test_a_batch_goes_on_with_the_first_record_that_the_function_names(dynamodb, functions, make):
    put(dynamodb, "kitchen", *range(3))

    async def answer(call: Call) -> Invocation:
        if len(functions.calls) > 1:
            return OK
        failed = [{"itemIdentifier": number_of(record)} for record in reversed(call.records[1:])]
        return Invocation(json.dumps({"batchItemFailures": failed}).encode())

    functions.answer = answer
    await make().start()
    await functions.until(lambda: len(functions.calls) == 2)

    assert [keys_of(call) for call in functions.calls] == [[0, 1, 2], [1, 2]]


async def test_a_batch_with_which_the_function_fails_is_tried_again_in_halves(dynamodb, functions, make):
    """So that a record that it cannot read keeps no other record from it, but those after it."""
    put(dynamodb, "kitchen", *range(4))

    async def answer(call: Call) -> Invocation:
        return FAILED if 1 in keys_of(call) else OK

    functions.answer = answer
    await make(batch_size=4, lanes=1, partial_response=False, bisects=True).start()
    await functions.until(lambda: [1] in map(keys_of, functions.calls))

    assert [keys_of(call) for call in functions.calls] == [[0, 1, 2, 3], [0, 1], [0], [1, 2, 3], [1]]


async def test_a_mapping_that_starts_again_goes_on_where_it_was(dynamodb, functions, make):
    put(dynamodb, "kitchen", 1, 2)
    first = make()
    await first.start()
    await functions.until(lambda: len(all_keys(functions)) == 2)
    await first.stop()

    put(dynamodb, "kitchen", 3)
    await make().start()
    await functions.until(lambda: len(all_keys(functions)) >= 3)

    assert all_keys(functions) == [1, 2, 3]


async def test_a_record_that_is_too_old_is_given_up_and_its_place_is_kept(dynamodb, functions, make, ministack):
    sqs = make_client(ministack, "us-east-1", KEYS)
    queue = sqs.create_queue(QueueName="untold")["QueueUrl"]
    failures = SqsQueue(queue, partial(make_client, ministack, "us-east-1", KEYS))
    put(dynamodb, "kitchen", 1)
    functions.answer = answering(*[FAILED] * 20)

    trigger = make(failures, maximum_age=2)
    await trigger.start()
    (message,) = await asyncio.to_thread(_received, sqs, queue)
    functions.answer = answering()
    put(dynamodb, "kitchen", 2)
    await eventually(lambda: trigger.status().records == 1)

    where = json.loads(message["Body"])["DDBStreamBatchInfo"]
    assert where["batchSize"] == 1
    assert "/Told/stream/" in where["streamArn"]
    assert where["startSequenceNumber"] == number_of(functions.calls[0].records[0])
    assert keys_of(functions.calls[-1]) == [2]


def _received(sqs: Any, queue: str) -> list[Any]:
    for _ in range(20):
        if found := sqs.receive_message(QueueUrl=queue, WaitTimeSeconds=1).get("Messages"):
            return list(found)
    return []
