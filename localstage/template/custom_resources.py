"""Runs custom resources as CloudFormation does: an event to the function, which PUTs its answer to the stage."""

from __future__ import annotations

import asyncio
import json
import logging
import uuid
from collections.abc import Mapping
from typing import Any

from aiohttp import web

from localstage.core.errors import StageError
from localstage.core.invoker import Functions, Invocation
from localstage.core.model import ACCOUNT, CustomResource, StageModel
from localstage.template.attributes import PARTITION, STACK

log = logging.getLogger("localstage.template")

# CloudFormation refuses a longer answer.
_MAX_ANSWER = 4096
_SECONDS = 120.0


async def run_custom_resources(model: StageModel, functions: Functions) -> None:
    """Create every custom resource, one after the other in the template's order, and wait for each.

    The event says Create at every start, since the stage's services may be new. A resource's ``ServiceTimeout``
    (seconds) has priority over two minutes.

    Raises:
        StageError: the function answers FAILED (with its reason), fails itself, or does not answer in time.
    """
    answers: dict[str, Mapping[str, Any]] = {}

    async def take(request: web.Request) -> web.Response:
        try:
            answers[request.path] = dict(json.loads(await request.read()))
        except (ValueError, TypeError):
            raise web.HTTPBadRequest(text="must be a JSON object") from None
        return web.Response()

    app = web.Application(client_max_size=_MAX_ANSWER)
    app.router.add_put("/{request_id}", take)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        for resource in model.custom_resources.values():
            path = f"/{uuid.uuid4()}"
            url = f"http://127.0.0.1:{runner.addresses[0][1]}{path}"
            invocation = await _invoke(resource, functions, _event(resource, url))
            # The function's PUT is answered before it returns, and nothing of it runs after its return.
            _check(resource, answers.get(path), invocation)
            log.debug("%s is made", resource.id)
    finally:
        await runner.cleanup()


async def _invoke(resource: CustomResource, functions: Functions, event: Mapping[str, Any]) -> Invocation:
    limit = float(resource.properties.get("ServiceTimeout") or _SECONDS)
    try:
        async with asyncio.timeout(limit):
            return await functions.invoke(resource.function_id, json.dumps(event).encode())
    except TimeoutError:
        raise StageError(
            f"{resource.id}: {resource.function_id} did not answer in {limit:.0f} s; "
            f"see its log: python -m localstage logs {resource.function_id}"
        ) from None


def _check(resource: CustomResource, answer: Mapping[str, Any] | None, invocation: Invocation) -> None:
    if answer is None:
        failed = f"failed ({invocation.error}): {invocation.payload[:500].decode(errors='replace')}"
        what = failed if invocation.error else "returned without an answer to ResponseURL"
        raise StageError(f"{resource.id}: {resource.function_id} {what}")
    if answer.get("Status") != "SUCCESS":
        raise StageError(f"{resource.id} could not be made: {answer.get('Reason') or 'no reason given'}")


def _event(resource: CustomResource, url: str) -> dict[str, Any]:
    return {
        "RequestType": "Create",
        "ServiceToken": resource.properties.get("ServiceToken", ""),
        "ResponseURL": url,
        "StackId": f"arn:{PARTITION}:cloudformation:us-east-1:{ACCOUNT}:stack/{STACK}/local",
        "RequestId": str(uuid.uuid4()),
        "LogicalResourceId": resource.id,
        "ResourceType": resource.type,
        "ResourceProperties": dict(resource.properties),
    }
