"""The SQS mapping redelivers messages after a failure and after a stop."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from localstage.core.invoker import Invocation
from tests.contract.localstage.triggers.trigger_fakes import (
    FAILED,
    Call,
    answering,
    fake_functions,  # noqa: F401 - a fixture
    left,
    new_sqs_queue,
    send,
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
