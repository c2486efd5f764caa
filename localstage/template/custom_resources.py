"""Runs custom resources as CloudFormation does: an event to the function, which PUTs its answer to the stage."""

from __future__ import annotations

import asyncio
import json
import logging
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from aiohttp import web

from localstage.core.errors import StageError
from localstage.core.invoker import Functions
from localstage.core.model import CustomResource, StageModel
from localstage.template.atomic_write import write_atomically
from localstage.template.attributes import ACCOUNT, PARTITION, STACK

log = logging.getLogger("localstage.template")

# CloudFormation refuses a longer answer.
_MAX_ANSWER = 4096
# A function that has returned without an answer will not send one: nothing runs after the return.
_GRACE = 1.0


async def run_custom_resources(
    model: StageModel, functions: Functions, *, state_dir: Path, patience: float = 120.0
) -> None:
    """Create every custom resource, one after the other in the template's order, and wait for each.

    The event says Create, or Update with the properties of the last successful start if they differ. It is sent at
    every start, since the stage's services may be new. A resource's ``ServiceTimeout`` (seconds) has priority over
    ``patience`` (seconds).

    Raises:
        StageError: the function answers FAILED (with its reason), fails itself, or does not answer in time.
    """
    if not model.custom_resources:
        return
    kept = _kept(state_dir / "custom-resources.json")
    async with _Answers() as answers:
        for resource in model.custom_resources.values():
            limit = float(resource.properties.get("ServiceTimeout") or patience)
            physical_id = await _make(resource, functions, answers, kept.get(resource.id), limit)
            kept[resource.id] = {"properties": dict(resource.properties), "physicalId": physical_id}
            write_atomically(state_dir / "custom-resources.json", json.dumps(kept, indent=1))
            log.debug("%s is made", resource.id)


async def _make(resource: CustomResource, functions: Functions, answers: _Answers, before: Any, limit: float) -> str:
    request_id = str(uuid.uuid4())
    answer = answers.expect(request_id)
    event = _event(resource, request_id, answers.url(request_id), before)
    try:
        async with asyncio.timeout(limit):
            await _invoke(resource, functions, event, answer)
            content = await answer
    except TimeoutError:
        raise StageError(
            f"{resource.id}: {resource.function_id} did not answer in {limit:.0f} s; "
            f"see its log: python -m localstage logs {resource.function_id}"
        ) from None
    finally:
        answers.forget(request_id)
    if content.get("Status") != "SUCCESS":
        raise StageError(f"{resource.id} could not be made: {content.get('Reason') or 'no reason given'}")
    return str(content.get("PhysicalResourceId") or resource.id)


async def _invoke(
    resource: CustomResource, functions: Functions, event: Mapping[str, Any], answer: asyncio.Future[Any]
) -> None:
    """Invoke the function; raise if it ended without an answer."""
    invocation = await functions.invoke(resource.function_id, json.dumps(event).encode())
    if answer.done():
        return
    if invocation.error is None:
        await asyncio.wait([answer], timeout=_GRACE)
        if answer.done():
            return
        raise StageError(f"{resource.id}: {resource.function_id} returned without an answer to ResponseURL")
    try:
        message = json.loads(invocation.payload).get("errorMessage", "")
    except (ValueError, AttributeError):
        message = ""
    raise StageError(f"{resource.id}: {resource.function_id} failed ({invocation.error}): {message}")


def _event(resource: CustomResource, request_id: str, url: str, before: Any) -> dict[str, Any]:
    event = {
        "RequestType": "Create",
        "ServiceToken": resource.properties.get("ServiceToken", ""),
        "ResponseURL": url,
        "StackId": f"arn:{PARTITION}:cloudformation:us-east-1:{ACCOUNT}:stack/{STACK}/local",
        "RequestId": request_id,
        "LogicalResourceId": resource.id,
        "ResourceType": resource.type,
        "ResourceProperties": dict(resource.properties),
    }
    if isinstance(before, dict) and before.get("properties") != event["ResourceProperties"]:
        event["RequestType"] = "Update"
        event["PhysicalResourceId"] = before.get("physicalId", resource.id)
        event["OldResourceProperties"] = before.get("properties", {})
    return event


class _Answers:
    """The address that functions PUT their answers to: a separate port on loopback, a path per request."""

    def __init__(self) -> None:
        self._expected: dict[str, asyncio.Future[dict[str, Any]]] = {}
        self._runner: web.AppRunner | None = None
        self._port = 0

    async def __aenter__(self) -> _Answers:
        app = web.Application(client_max_size=_MAX_ANSWER)
        app.router.add_put("/{request_id}", self._take)
        self._runner = web.AppRunner(app, access_log=None)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self._port = self._runner.addresses[0][1]
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._runner is not None:
            await self._runner.cleanup()

    def url(self, request_id: str) -> str:
        """The URL for the answer to one request."""
        return f"http://127.0.0.1:{self._port}/{request_id}"

    def expect(self, request_id: str) -> asyncio.Future[dict[str, Any]]:
        """The future answer."""
        return self._expected.setdefault(request_id, asyncio.get_running_loop().create_future())

    def forget(self, request_id: str) -> None:
        """Stop waiting for an answer."""
        self._expected.pop(request_id, None)

    async def _take(self, request: web.Request) -> web.Response:
        answer = self._expected.get(request.match_info["request_id"])
        if answer is None:
            raise web.HTTPNotFound
        try:
            content = json.loads(await request.read())
        except ValueError:
            content = None
        if not isinstance(content, dict):
            raise web.HTTPBadRequest(text="must be a JSON object")
        if not answer.done():
            answer.set_result(content)
        return web.Response()


def _kept(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError):
        log.debug("%s is damaged; every custom resource is created again", path)
        return {}
    return content if isinstance(content, dict) else {}
