"""The caller of a request, from the claims of their token.

API Gateway has checked the token before a function runs (HTTP: JWT authorizer; WebSocket: the Lambda authorizer on
``$connect``). A connection may outlive its token, so the router checks the expiry again for every frame.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from headrace.core.caller import ANALYTICS_READ, CHAT_READ, CHAT_WRITE, EVENTS_WRITE, Caller
from headrace.core.errors import Unauthorized
from headrace.core.keys import normalize_id
from headrace.core.texts import without_controls

CONNECT_SCOPES = frozenset({CHAT_READ, CHAT_WRITE, EVENTS_WRITE, ANALYTICS_READ})
"""A caller with any of these may open a WebSocket connection."""
SUBPROTOCOL = "headrace.v1"
"""What a WebSocket connection speaks. A client offers it beside the token, and the answer to its handshake names it."""
SCOPE_CLAIMS = ("scope", "scp")
"""The claims with scopes that API Gateway's JWT authorizer reads too."""
_CLAIMS = ("sub", "exp", "username", *SCOPE_CLAIMS)


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
        Unauthorized: the route has no authorizer, the token names no subject, or a claim is not a text.
    """
    try:
        claims = event["requestContext"]["authorizer"]["jwt"]["claims"]
    except (KeyError, TypeError):
        raise Unauthorized("this route needs a token") from None
    address = event["requestContext"].get("http", {}).get("sourceIp") or ""
    known = _known(claims, prefix)
    return Caller(known.subject, known.username, known.scopes, known.expires_at, address)


def caller_from_frame(event: Mapping[str, Any], prefix: str = "") -> Caller:
    """The caller of a WebSocket event, from the context that the authorizer gave to the connection.

    Raises:
        Unauthorized: the connection carries no context, or was refused.
    """
    context = event["requestContext"].get("authorizer")
    if not context:
        raise Unauthorized("this connection has no token")
    if refusal_of(event):
        raise Unauthorized("this connection was refused; its subprotocol says why")
    return _known(context, prefix)


def refused_context(subprotocol: str) -> dict[str, str]:
    """The context of a connection that the authorizer refuses: the subprotocol that says why, and no caller."""
    return {"refused": subprotocol}


def refusal_of(event: Mapping[str, Any]) -> str | None:
    """The subprotocol that says why the connection of a WebSocket event is refused; ``None`` if it is not."""
    return (event["requestContext"].get("authorizer") or {}).get("refused")


def _known(claims: Mapping[str, Any], prefix: str) -> Caller:
    try:
        return _remembered(prefix, *map(claims.get, _CLAIMS))
    except TypeError:  # a list or an object, which cannot be remembered
        raise Unauthorized("a claim of the token is not a text") from None


@functools.lru_cache(maxsize=1024, typed=True)
def _remembered(prefix: str, *values: str | None) -> Caller:
    """The caller of a token's claims, which all requests with this token have. API Gateway passes them as texts."""
    claims = {name: value for name, value in zip(_CLAIMS, values, strict=True) if value is not None}
    return caller_from_claims(claims, prefix)
