"""MiniStack behind the check of :mod:`localstage.core.own_machine`; runs in MiniStack's own environment.

With the variable ``HEADRACE_SESSION_TOKEN``, only requests of clients with that session token are answered, and links
that such a client signed. A page may send a request to a link if the CORS rules of the bucket allow it. The trace
header of a request to SQS goes into its messages, as on AWS. A call that does not fit AWS's own model of the service,
which MiniStack would take, is refused.
"""

from __future__ import annotations

import functools
import hmac
import json
import os
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from importlib import import_module
from typing import Any
from urllib.parse import parse_qsl, unquote

from botocore.loaders import Loader
from botocore.model import ServiceModel
from botocore.validate import ParamValidator

from localstage.core.own_machine import refusal

Message = dict[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
_CHECKED = ("events", "secretsmanager", "sqs")
_TOKEN = os.environ.get("HEADRACE_SESSION_TOKEN", "")
_trace: ContextVar[str] = ContextVar("trace", default="")
"""The trace header of the request that is answered."""
emulator: Callable[..., Awaitable[None]] = import_module("ministack.app").app


def _keep_traces() -> None:
    """SQS keeps the trace header of a request with its messages; MiniStack only what a message names itself."""
    sqs: Any = import_module("ministack.services.sqs")
    attributes_of = sqs._build_send_sys_attrs

    def with_trace(*arguments: Any) -> dict[str, str]:
        found: dict[str, str] = attributes_of(*arguments)
        return found | {"AWSTraceHeader": _trace.get()} if _trace.get() else found

    sqs._build_send_sys_attrs = with_trace


_keep_traces()


@functools.cache
def _models() -> dict[str, ServiceModel]:
    """The models of services that are called with JSON, by what their targets begin with."""
    models = [ServiceModel(Loader().load_service_model(name, "service-2")) for name in _CHECKED]
    return {model.metadata["targetPrefix"]: model for model in models}


def _misuse(target: str, body: bytes) -> str:
    """Why the body of a call does not fit the model of its operation; empty if it does, or if there is no model."""
    prefix, _, operation = target.partition(".")
    model = _models().get(prefix)
    shape = model.operation_model(operation).input_shape if model and operation in model.operation_names else None
    return str(ParamValidator().validate(json.loads(body), shape).generate_report()) if shape else ""


def _token_of_link(scope: Message) -> str:
    """The session token in a link of S3, whose signature MiniStack checks; empty in what it does not check.

    Everybody who has seen one link knows the token.
    """
    query = dict(parse_qsl(scope.get("query_string", b"").decode("latin-1")))
    is_checked = "X-Amz-Signature" in query and query.get("X-Amz-Algorithm") == "AWS4-HMAC-SHA256"
    is_of_s3 = query.get("X-Amz-Credential", "").endswith("/s3/aws4_request")
    return query.get("X-Amz-Security-Token", "") if is_checked and is_of_s3 else ""


def _cors_of_link(scope: Message, headers: dict[str, str]) -> dict[str, str]:
    """The CORS headers of the answer to a page; empty if the rules of its bucket do not allow the request.

    MiniStack looks at the rules only where it also checks the rights of all callers, and allows everything elsewhere.
    """
    s3: Any = import_module("ministack.services.s3")
    bucket, _, key = str(scope["path"]).lstrip("/").partition("/")
    if scope["method"] != "OPTIONS":
        return dict(s3.cors_response_headers(bucket, scope["method"], headers))
    status, answer, _ = s3.cors_preflight(bucket, key, headers)
    return dict(answer) if status == 200 else {}


def _with_cors(send: Send, cors: dict[str, str]) -> Send:
    """Send an answer with these CORS headers instead of MiniStack's."""
    own = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in cors.items()]

    async def replaced(message: Message) -> None:
        if message["type"] == "http.response.start":
            kept = [each for each in message["headers"] if not each[0].lower().startswith(b"access-control-")]
            message = {**message, "headers": [*kept, *own]}
        await send(message)

    return replaced


async def _whole(receive: Receive) -> tuple[bytes, Receive]:
    """The body of a request, and what receives it once more."""
    body, message = b"", Message(more_body=True)
    while message.get("more_body"):
        message = await receive()
        body += message.get("body", b"")
    waiting = [{**message, "body": body}]

    async def again() -> Message:
        return waiting.pop() if waiting else await receive()

    return body, again


async def app(scope: Message, receive: Receive, send: Send) -> None:
    """The ASGI application that the stage serves."""
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope.get("headers", ())}
    linked = _token_of_link(scope)
    origin, site, cors = headers.get("origin"), headers.get("sec-fetch-site"), dict[str, str]()
    if _TOKEN and hmac.compare_digest(linked.encode(), _TOKEN.encode()):
        # A page, such as the console, may show a link, and everybody who has it may open it.
        site = None
        cors = _cors_of_link(scope, headers) if origin and scope["type"] == "http" else {}
    reason = refusal(headers.get("host"), None if cors else origin, site)
    token = headers.get("x-amz-security-token") or linked
    if _TOKEN and not hmac.compare_digest(token.encode(), _TOKEN.encode()):
        reason = reason or "X-Amz-Security-Token: not the session token of this stage"
    _trace.set(unquote(headers.get("x-amzn-trace-id", "")))
    if not reason and (target := headers.get("x-amz-target", "")):
        body, receive = await _whole(receive)
        if misuse := _misuse(target, body):
            await _answer(send, 400, {"__type": "ValidationException", "message": misuse})
            return
    if scope["type"] == "lifespan" or not reason:
        await emulator(scope, receive, _with_cors(send, cors) if cors else send)
    elif scope["type"] == "websocket":
        await send({"type": "websocket.close"})  # before it is accepted: answered with 403
    else:
        await _answer(send, 403, {"message": reason})


async def _answer(send: Send, status: int, body: Message) -> None:
    head = [(b"content-type", b"application/json")]
    await send({"type": "http.response.start", "status": status, "headers": head})
    await send({"type": "http.response.body", "body": json.dumps(body).encode()})
