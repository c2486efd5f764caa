"""Decides who may open a WebSocket connection, in the form of a REQUEST authorizer's answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headrace.api.tokens import TokenVerifier, token_from_subprotocols
from headrace.core.caller import CHAT_READ, CHAT_WRITE, EVENTS_WRITE, Caller
from headrace.core.errors import TokenExpired, Unauthorized
from headrace.runtime.observability import report

CONNECT_SCOPES = frozenset({CHAT_READ, CHAT_WRITE, EVENTS_WRITE})


def decide(event: Mapping[str, Any], verifier: TokenVerifier) -> dict[str, Any]:
    """Allow a caller with any of ``CONNECT_SCOPES``, deny one without.

    Raises:
        Exception: with the text ``Unauthorized``, the one that API Gateway answers with 401.
        headrace.core.errors.Unavailable: the issuer's keys cannot be fetched; API Gateway answers with 500.
    """
    headers = {name.lower(): value for name, value in (event.get("headers") or {}).items()}
    try:
        caller = verifier.verify(token_from_subprotocols(headers.get("sec-websocket-protocol")))
    except (Unauthorized, TokenExpired) as error:
        report(f"connect {type(error).__name__}", error.message, level="info")
        raise Exception("Unauthorized") from None
    return policy(caller, str(event["methodArn"]), verifier.prefix)


def policy(caller: Caller, method_arn: str, prefix: str = "") -> dict[str, Any]:
    """The authorizer's answer; its context comes back with every event of the connection, as texts.

    Scopes are written with their ``prefix``, as in the token, so that both protocols read them alike.
    """
    allowed = not CONNECT_SCOPES.isdisjoint(caller.scopes)
    statement = {"Action": "execute-api:Invoke", "Effect": "Allow" if allowed else "Deny", "Resource": method_arn}
    return {
        "principalId": caller.subject,
        "policyDocument": {"Version": "2012-10-17", "Statement": [statement]},
        "context": {
            "sub": caller.subject,
            "username": caller.username,
            "scope": " ".join(prefix + scope for scope in sorted(caller.scopes)),
            "exp": str(caller.expires_at),
        },
    }
