"""The SQS mapping redelivers messages after a failure and after a stop."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

from localstage.core.errors import StageError
from localstage.core.invoker import Invocation
from tests.contract.localstage.triggers.trigger_fakes import (
    FAILED,
    OK,
    Call,
    answering,
    eventually,
    fake_functions,  # noqa: F401 - a fixture
    left,
    new_sqs_queue,
    send,
    sqs_arn_of,
    sqs_client,  # noqa: F401 - a fixture
    sqs_queue,  # noqa: F401 - a fixture
    sqs_triggers,  # noqa: F401 - a fixture
)


async def test_after_an_error_all_messages_return_by_their_visibility_timeout(sqs, functions, make_trigger):
    queue = new_sqs_queue(sqs, VisibilityTimeout="1")
    functions.answer = answering(FAILED)
    send(sqs, queue, "a", "b")
    trigger = make_trigger(queue)

    await trigger.start()
    await functions.until(lambda: len(functions.bodies) >= 4)
    await trigger.stop()

    counts = [record["attributes"]["ApproximateReceiveCount"] for call in functions.calls for record in call.records]
    assert sorted(counts) == ["1", "1", "2", "2"]
    assert left(sqs, queue) == (0, 0)


def failing(*failed: str) -> Callable[[Call], Any]:
    async def answer(call: Call) -> Invocation:
        ids = [record["messageId"] for record in call.records if record["body"] in failed]
        return Invocation(json.dumps({"batchItemFailures": [{"itemIdentifier": id} for id in ids]}).encode())

    return answer


async def test_a_partial_response_returns_only_the_failed_messages(sqs, queue, functions, make_trigger):
    functions.answer = failing("b")
    send(sqs, queue, "a", "b", "c")
    trigger = make_trigger(queue, partial_response=True)

    await trigger.start()
    await functions.until(lambda: len(functions.bodies) == 3)
    await trigger.stop()

    assert left(sqs, queue) == (0, 1)


async def test_a_message_that_fails_too_often_is_moved_to_the_dead_letter_queue(sqs, functions, make_trigger):
    dead = new_sqs_queue(sqs)
    redrive = json.dumps({"deadLetterTargetArn": sqs_arn_of(sqs, dead), "maxReceiveCount": 2})
    queue = new_sqs_queue(sqs, VisibilityTimeout="1", RedrivePolicy=redrive)
    functions.answer = failing("bad")
    send(sqs, queue, "good", "bad")

    await make_trigger(queue, partial_response=True).start()
    await eventually(lambda: left(sqs, dead) == (1, 0))

    assert functions.bodies.count("bad") == 2
    assert functions.bodies.count("good") == 1


async def test_a_function_that_cannot_be_started_leaves_the_messages_and_pauses(sqs, functions, make_trigger):
    queue = new_sqs_queue(sqs, VisibilityTimeout="1")
    answers = [StageError("no environment")]

    async def answer(_: Call) -> Invocation:
        if answers:
            raise answers.pop()
        return OK

    functions.answer = answer
    send(sqs, queue, "a")
    trigger = make_trigger(queue)

    await trigger.start()
    await functions.until(lambda: len(functions.calls) == 2)
    await trigger.stop()

    assert left(sqs, queue) == (0, 0)


async def test_stopping_ends_a_long_poll_and_releases_its_messages(sqs, queue, functions, make_trigger):
    idle = make_trigger(queue)
    await idle.start()
    await asyncio.sleep(0.5)

    async with asyncio.timeout(5):
        await idle.stop()
    send(sqs, queue, "a")
    await make_trigger(queue).start()

    # The abandoned poll may receive the message first; it returns long before its visibility timeout of 30 s.
    await functions.until(lambda: functions.bodies == ["a"])
