"""A function that sends to its own queue is stopped after 16 rounds, as Lambda does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from functools import partial
from typing import Any

import pytest

from localstage.core.model import SqsMapping
from localstage.functions import FunctionPool
from localstage.triggers.sqs import SqsTrigger
from localstage.triggers.sqs_queue import make_client, queue_arn
from tests.contract.emulators import Emulators
from tests.contract.localstage.functions.functions_harness import Stage, answer_of
from tests.contract.localstage.triggers.trigger_fakes import CREDENTIALS, new_sqs_queue, sqs_arn_of

# Its messages are numbered, and the last has the number 20.
SENDS_AGAIN = """
    import os
    import boto3
    sqs = boto3.client("sqs")
    def handler(event, context):
        number = int(event["Records"][0]["body"])
        if number < 20:
            entries = [{"Id": "0", "MessageBody": str(number + 1)}]
            sqs.send_message_batch(QueueUrl=os.environ["QUEUE"], Entries=entries)
"""
REDRIVES = """
    import os
    import boto3
    sqs = boto3.client("sqs")
    def handler(event, context):
        (letter,) = sqs.receive_message(QueueUrl=os.environ["DEAD"])["Messages"]
        sqs.send_message(QueueUrl=os.environ["QUEUE"], MessageBody=letter["Body"])
        return letter["Body"]
"""


class Loop:
    """A queue with its dead-letter queue, a function that it invokes, and one that redrives."""

    def __init__(self, sqs: Any) -> None:
        self.sqs = sqs
        self.dead = new_sqs_queue(sqs)
        redrive = f'{{"deadLetterTargetArn": "{sqs_arn_of(sqs, self.dead)}", "maxReceiveCount": 1}}'
        self.queue = new_sqs_queue(sqs, VisibilityTimeout="3", RedrivePolicy=redrive)
        self.pool: FunctionPool | None = None

    async def until(self, wanted: int, *, dead: int = 0) -> None:
        """Wait until the function ran so often, and so many messages are dead."""
        names = ["ApproximateNumberOfMessages"]
        async with asyncio.timeout(60):
            while True:
                letters = await asyncio.to_thread(
                    self.sqs.get_queue_attributes, QueueUrl=self.dead, AttributeNames=names
                )
                rounds = self.pool.status()["Fn"].invocations - 1  # the first only starts it
                now = (rounds, int(letters["Attributes"][names[0]]))
                if now == (wanted, dead):
                    return
                assert rounds <= wanted
                await asyncio.sleep(0.1)


@pytest.fixture
async def loop(stage: Stage, emulators: Emulators) -> AsyncIterator[Loop]:
    factory = partial(make_client, emulators.sqs_url, "us-east-1", CREDENTIALS)
    made = Loop(factory())
    urls = {"QUEUE": made.queue, "DEAD": made.dead, "AWS_ENDPOINT_URL": emulators.sqs_url}
    environment = {**urls, "AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local"}
    made.pool = await stage.run(
        stage.function(SENDS_AGAIN, environment=environment),
        stage.function(REDRIVES, id="Redrive", environment=environment),
        base_environment={"AWS_REGION": "us-east-1"},
    )
    await answer_of(made.pool, {"Records": [{"body": "20"}]})  # a start may outlast the visibility timeout
    mapping = SqsMapping("Mapping", "Fn", "Queue", 1, maximum_concurrency=1, partial_response=False)
    arn = queue_arn(made.queue, "us-east-1")
    trigger = SqsTrigger(mapping, made.pool, queue_url=made.queue, queue_arn=arn, client_factory=factory)
    await trigger.start()
    yield made
    await trigger.stop(grace=0)


async def test_a_chain_is_stopped_after_sixteen_rounds_and_a_redrive_begins_a_new_one(loop: Loop) -> None:
    loop.sqs.send_message(QueueUrl=loop.queue, MessageBody="1")
    await loop.until(16, dead=1)

    assert await answer_of(loop.pool, id="Redrive") == "17"
    await loop.until(16 + 4)
