"""MiniStack behind the check of :mod:`localstage.core.own_machine`; runs in MiniStack's own environment.

With the variable ``HEADRACE_SESSION_TOKEN``, only requests of clients with that session token are answered. The trace
header of a request to SQS goes into its messages, as on AWS.
"""

from __future__ import annotations

import hmac
import json
import os
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from importlib import import_module
from typing import Any
from urllib.parse import unquote

from localstage.core.own_machine import refusal

Message = dict[str, Any]
_TOKEN = os.environ.get("HEADRACE_SESSION_TOKEN", "")
_trace: ContextVar[str] = ContextVar("trace", default="")
"""The trace header of the request that is answered."""
_ministack: Callable[..., Awaitable[None]] = import_module("ministack.app").app


def _keep_traces() -> None:
    """SQS keeps the trace header of a request with its messages; MiniStack only what a message names itself."""
    sqs: Any = import_module("ministack.services.sqs")
    attributes_of = sqs._build_send_sys_attrs

    def with_trace(*arguments: Any) -> dict[str, str]:
        found: dict[str, str] = attributes_of(*arguments)
        return found | {"AWSTraceHeader": _trace.get()} if _trace.get() else found

    sqs._build_send_sys_attrs = with_trace


_keep_traces()


async def app(
    scope: Message, receive: Callable[[], Awaitable[Message]], send: Callable[[Message], Awaitable[None]]
) -> None:
    """The ASGI application that the stage serves."""
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope.get("headers", ())}
    reason = refusal(headers.get("host"), headers.get("origin"), headers.get("sec-fetch-site"))
    if _TOKEN and not hmac.compare_digest(headers.get("x-amz-security-token", "").encode(), _TOKEN.encode()):
        reason = reason or "X-Amz-Security-Token: not the session token of this stage"
    _trace.set(unquote(headers.get("x-amzn-trace-id", "")))
    if scope["type"] == "lifespan" or not reason:
        await _ministack(scope, receive, send)
    elif scope["type"] == "websocket":
        await send({"type": "websocket.close"})  # before it is accepted: answered with 403
    else:
        head = [(b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": 403, "headers": head})
        await send({"type": "http.response.body", "body": json.dumps({"message": reason}).encode()})
