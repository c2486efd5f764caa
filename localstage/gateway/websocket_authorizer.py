"""The Lambda authorizer of a WebSocket API: identity sources, the policy it returns, and its context."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from localstage.core.invoker import is_refusal
from localstage.core.model import WebSocketAuthorizer
from localstage.gateway.integration import IntegrationError, IntegrationFailed, Integrations
from localstage.gateway.websocket_events import ConnectionEvents, Handshake

TIMEOUT = 10.0
MAX_RESULT = 8 * 1024


class HandshakeRefused(Exception):
    """The connection is not made; the client gets this status and message. ``reason`` is for the stage's log."""

    def __init__(self, status: int, message: str, error_type: str = "", reason: str | Callable[[], str] = "") -> None:
        super().__init__(message)
        self.status = status
        self.error_type = error_type
        self.reason = reason or message


async def authorize(
    authorizer: WebSocketAuthorizer,
    integrations: Integrations,
    handshake: Handshake,
    events: ConnectionEvents,
    request_id: str,
) -> dict[str, Any]:
    """Return the ``requestContext.authorizer`` of every later event of the connection.

    Raises:
        HandshakeRefused: 401 without an identity, 403 if the policy does not allow, 500 if the function fails.
    """
    if missing := [source for source in authorizer.identity_sources if not _has(handshake, source)]:
        lacks = f"the handshake has no {missing[0].removeprefix('route.request.').replace('.', ' ', 1)}"
        raise HandshakeRefused(401, "Unauthorized", "UnauthorizedException", lacks)

    def reason() -> str:
        logged = integrations.logged(authorizer.function_id, request_id)
        return logged or f"make logs FUNCTION={authorizer.function_id} says what is wrong with the token"

    try:
        payload = await integrations.call(authorizer.function_id, events.authorize(request_id), TIMEOUT)
    except IntegrationFailed as error:
        if is_refusal(error.payload):
            raise HandshakeRefused(401, "Unauthorized", "UnauthorizedException", reason) from None
        raise _broken() from None
    except IntegrationError:
        raise _broken() from None
    answer = _parse(payload)
    if answer is None:
        integrations.report_malformed(authorizer.function_id, "an authorizer returns principalId and policyDocument")
        raise _broken()
    statements, context = answer
    _check_policy(statements, events.method_arn, reason)
    return context


def _broken() -> HandshakeRefused:
    return HandshakeRefused(500, "Internal server error", "AuthorizerConfigurationException")


def _has(handshake: Handshake, source: str) -> bool:
    """Whether an identity source, which is a header, is present and not empty."""
    name = source.removeprefix("route.request.header.").lower()
    return any(given.lower() == name and value for given, value in handshake.headers.items())


def _parse(payload: bytes) -> tuple[Sequence[dict[str, Any]], dict[str, Any]] | None:
    if len(payload) > MAX_RESULT:
        return None
    try:
        answer = json.loads(payload)
        statements = answer["policyDocument"]["Statement"]
        context = answer.get("context") or {}
        principal = answer["principalId"]
    except (ValueError, TypeError, KeyError, AttributeError):
        return None
    statements = [statements] if isinstance(statements, dict) else statements
    if not isinstance(statements, list) or not all(isinstance(statement, dict) for statement in statements):
        return None
    if not isinstance(principal, str | int) or not isinstance(context, dict):
        return None
    texts = {"principalId": str(principal)}
    for name, value in context.items():
        if isinstance(value, dict | list):
            return None
        if value is not None:
            texts[name] = value if isinstance(value, str) else json.dumps(value)
    return statements, texts


def _check_policy(statements: Sequence[dict[str, Any]], arn: str, reason: Callable[[], str]) -> None:
    about = [each for each in statements if each.get("Resource") in ("*", arn)]  # other wildcards are not understood
    effects = {each.get("Effect") for each in about if each.get("Action") == "execute-api:Invoke"}
    if "Deny" in effects:
        denied = "User is not authorized to access this resource with an explicit deny"
        raise HandshakeRefused(403, denied, "AccessDeniedException", reason)
    if "Allow" not in effects:
        denied = "User is not authorized to access this resource"
        raise HandshakeRefused(403, denied, "AccessDeniedException", reason)
