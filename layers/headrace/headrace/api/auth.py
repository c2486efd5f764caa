"""Finds the caller of an event: the subject of their token and its scopes.

API Gateway has checked the token before a function runs (HTTP: JWT authorizer; WebSocket: the Lambda authorizer on
``$connect``). A connection may outlive its token, so the router checks the expiry again for every frame.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from headrace.core.caller import Caller
from headrace.core.errors import Unauthorized
from headrace.core.keys import normalize_id, without_controls

SUBPROTOCOL = "headrace.v1"
SCOPE_CLAIMS = ("scope", "scp")
"""The claims with scopes that API Gateway's JWT authorizer reads too."""


def caller_from_claims(claims: Mapping[str, Any], prefix: str = "") -> Caller:
    """The caller in the claims of a verified token. API Gateway passes the values of claims as texts.

    Scopes are in ``scope`` or ``scp``, as a text or an array. A scope without ``prefix`` belongs to another application
    and is left out. A subject is never normalized: to the issuer, two forms of one text may be two users.

    Raises:
        Unauthorized: ``sub`` or ``exp`` is missing or unusable.
    """
    try:
        given = str(claims["sub"])
        subject = normalize_id(given)
        expires_at = int(float(claims["exp"]))
    except (KeyError, ValueError, TypeError, OverflowError):
        raise Unauthorized("the token names no usable subject or expiry") from None
    if subject != given:
        raise Unauthorized("the token's subject is not in Unicode's form NFC")
    scopes = {scope for name in SCOPE_CLAIMS for scope in _texts(claims.get(name))}
    username = without_controls(str(claims.get("username") or ""))[:128] or subject
    return Caller(
        subject=subject,
        username=username,
        scopes=frozenset(scope.removeprefix(prefix) for scope in scopes if scope.startswith(prefix)),
        expires_at=expires_at,
    )


def _texts(claim: object) -> list[str]:
    """The texts in a claim: an array, or words. API Gateway passes an array to a function as ``[a b]``."""
    if isinstance(claim, list):
        return [text for text in claim if isinstance(text, str)]
    words = claim.strip() if isinstance(claim, str) else ""
    if words.startswith("[") and words.endswith("]"):
        words = words[1:-1]
    return words.split()


def caller_from_http(event: Mapping[str, Any], prefix: str = "") -> Caller:
    """The caller of an HTTP API event (payload 2.0) behind a JWT authorizer, with its address.

    Raises:
        Unauthorized: the route has no authorizer, or the token names no subject.
    """
    try:
        claims = event["requestContext"]["authorizer"]["jwt"]["claims"]
    except (KeyError, TypeError):
        raise Unauthorized("this route needs a token") from None
    address = event["requestContext"].get("http", {}).get("sourceIp") or ""
    return replace(caller_from_claims(claims, prefix), address=address)


def caller_from_frame(event: Mapping[str, Any], prefix: str = "") -> Caller:
    """The caller of a WebSocket event, from the context that the authorizer gave to the connection.

    Raises:
        Unauthorized: the connection carries no context.
    """
    context = event["requestContext"].get("authorizer")
    if not context:
        raise Unauthorized("this connection has no token")
    return caller_from_claims(context, prefix)
