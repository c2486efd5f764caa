"""A function that sends to its own queue is stopped after 16 rounds, as Lambda does."""

from __future__ import annotations

import json
from functools import partial

from localstage.core.model import SqsMapping
from localstage.triggers.sqs import SqsTrigger
from localstage.triggers.sqs_queue import make_client, queue_arn
from tests.contract.emulators import Emulators
from tests.contract.localstage.functions.functions_harness import Stage, answer_of
from tests.contract.localstage.triggers.trigger_fakes import CREDENTIALS, eventually, left, new_sqs_queue

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


async def test_a_chain_is_stopped_after_sixteen_rounds(stage: Stage, emulators: Emulators) -> None:
    factory = partial(make_client, emulators.sqs_url, "us-east-1", CREDENTIALS)
    sqs = factory()
    dead = new_sqs_queue(sqs)
    redrive = json.dumps({"deadLetterTargetArn": queue_arn(dead, "us-east-1"), "maxReceiveCount": 1})
    queue = new_sqs_queue(sqs, VisibilityTimeout="3", RedrivePolicy=redrive)
    environment = {"QUEUE": queue, "AWS_ENDPOINT_URL": emulators.sqs_url}
    environment |= {"AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local"}
    function = stage.function(SENDS_AGAIN, environment=environment)
    pool = await stage.run(function, base_environment={"AWS_REGION": "us-east-1"})
    await answer_of(pool, {"Records": [{"body": "20"}]})  # a start may outlast the visibility timeout
    mapping = SqsMapping("Mapping", "Fn", "Queue", 1, maximum_concurrency=1, partial_response=False)
    arn = queue_arn(queue, "us-east-1")
    trigger = SqsTrigger(mapping, pool, queue_url=queue, queue_arn=arn, client_factory=factory)
    await trigger.start()
    sqs.send_message(QueueUrl=queue, MessageBody="1")

    await eventually(lambda: left(sqs, dead) == (1, 0))

    await trigger.stop(grace=0)
    assert pool.status()["Fn"].invocations == 1 + 16
