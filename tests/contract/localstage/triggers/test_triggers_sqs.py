"""The SQS mapping against an emulator of SQS: batches, and the records in them."""

from __future__ import annotations

import asyncio

from aws_lambda_powertools.utilities.data_classes import SQSEvent

from localstage.core.invoker import Invocation
from tests.contract.localstage.triggers.trigger_fakes import (
    OK,
    Call,
    fake_functions,  # noqa: F401 - a fixture
    send,
    sqs_client,  # noqa: F401 - a fixture
    sqs_queue,  # noqa: F401 - a fixture
    sqs_triggers,  # noqa: F401 - a fixture
)


async def test_a_message_reaches_the_function_in_the_shape_that_lambda_gives_it(sqs, queue, functions, make_trigger):
    sent = sqs.send_message(
        QueueUrl=queue,
        MessageBody='{"v": 1}',
        MessageAttributes={
            "kind": {"DataType": "String", "StringValue": "chat"},
            "raw": {"DataType": "Binary", "BinaryValue": b"\x00\xff"},
        },
    )

    await make_trigger(queue).start()
    await functions.until(lambda: len(functions.calls) == 1)

    call = functions.calls[0]
    assert (call.function_id, call.dedicated_to) == ("Persist", None)
    (record,) = SQSEvent(call.event).records
    assert (record.message_id, record.json_body) == (sent["MessageId"], {"v": 1})
    assert record.md5_of_body == sent["MD5OfMessageBody"]
    assert record.event_source == "aws:sqs"
    assert record.event_source_arn.startswith("arn:aws:sqs:us-east-1:")
    assert record.event_source_arn.endswith(queue.rsplit("/", 1)[1])
    assert record.aws_region == "us-east-1"
    assert record.receipt_handle
    assert record.attributes.approximate_receive_count == "1"
    assert record.attributes.sent_timestamp.isdigit()
    assert call.records[0]["messageAttributes"] == {
        "kind": {"stringValue": "chat", "stringListValues": [], "binaryListValues": [], "dataType": "String"},
        "raw": {"binaryValue": "AP8=", "stringListValues": [], "binaryListValues": [], "dataType": "Binary"},
    }


async def test_the_maximum_concurrency_bounds_the_invocations(sqs, queue, functions, make_trigger):
    two = asyncio.Barrier(2)

    async def answer(_: Call) -> Invocation:
        await two.wait()
        return OK

    functions.answer = answer
    send(sqs, queue, *"abcdef")

    await make_trigger(queue, batch_size=1, maximum_concurrency=2).start()
    await functions.until(lambda: len(functions.calls) == 6)

    assert functions.most["all"] == 2
