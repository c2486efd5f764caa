"""A failure of a custom resource stops the start with its reason."""

import json
from collections.abc import Callable
from typing import Any

import aiohttp
import pytest

from localstage.core.errors import StageError
from localstage.core.invoker import Invocation
from localstage.core.model import CustomResource, StageModel
from localstage.template.custom_resources import run_custom_resources


class Answering:
    """Functions that PUT an answer to ResponseURL, as a custom resource's function does."""

    def __init__(self, answer: Callable[[dict[str, Any]], Any], invocation: Invocation | None = None) -> None:
        self._answer = answer
        self._invocation = invocation or Invocation(b"null")

    async def invoke(self, function_id: str, event: bytes, *, dedicated_to: str | None = None) -> Invocation:
        content = self._answer(json.loads(event))
        if content is not None:
            async with aiohttp.ClientSession() as session:
                await session.put(json.loads(event)["ResponseURL"], data=json.dumps(content))
        return self._invocation


STAGE = StageModel(
    custom_resources={"Topology": CustomResource("Topology", "Custom::Topology", "Declare", {"ServiceToken": "arn"})}
)


async def test_a_failed_answer_stops_the_start_with_its_reason():
    functions = Answering(lambda event: {"Status": "FAILED", "Reason": "queue persist.chat.0 differs"})

    with pytest.raises(StageError, match=r"Topology could not be made: queue persist\.chat\.0 differs"):
        await run_custom_resources(STAGE, functions)


@pytest.mark.parametrize(
    ("invocation", "complaint"),
    [
        (Invocation(b"null"), "Declare returned without an answer to ResponseURL"),
        (Invocation(b'{"errorMessage": "no broker"}', "Unhandled"), r"Declare failed \(Unhandled\): .*no broker"),
        (Invocation(b"not json", "TimedOut"), r"Declare failed \(TimedOut\)"),
    ],
)
async def test_a_function_that_does_not_answer_stops_the_start(invocation, complaint):
    with pytest.raises(StageError, match=complaint):
        await run_custom_resources(STAGE, Answering(lambda _: None, invocation))
