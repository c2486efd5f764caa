"""Who calls, and what their token lets them do.

API Gateway has checked the token's signature before a function runs (HTTP: JWT authorizer; WebSocket: the Lambda
authorizer on ``$connect``). A connection outlives its token, so the expiry is checked again on every frame.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from headrace.errors import FieldError, Forbidden, TokenExpired, Unauthorized
from headrace.keys import normalize_id
from headrace.times import SECOND

CHAT_WRITE = "chat:write"
CHAT_READ = "chat:read"
EVENTS_WRITE = "events:write"
ANALYTICS_READ = "analytics:read"
OPS = "ops"


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls: ``subject`` is the user id, ``scopes`` are without prefix, ``expires_at`` is epoch seconds.

    ``address`` is the client's, where it is known: never log it, never keep it.
    """

    subject: str
    username: str
    scopes: frozenset[str]
    expires_at: int
    address: str = field(default="", repr=False, compare=False)

    def require(self, *scopes: str, now: int) -> None:
        """Pass if the token is still good at ``now`` (microseconds) and has one of ``scopes``.

        Raises:
            TokenExpired: it was good until ``expires_at``.
            Forbidden: it has none of ``scopes``.
        """
        self.require_unexpired(now)
        if self.scopes.isdisjoint(scopes):
            wanted = " or ".join(scopes)
            raise Forbidden(
                f"the token does not have the scope {wanted}",
                details=[FieldError("scope", "a scope is missing", " ".join(sorted(self.scopes))[:256], wanted)],
            )

    def require_unexpired(self, now: int) -> None:
        """Pass if the token is still good at ``now`` (microseconds).

        Raises:
            TokenExpired: it was good until ``expires_at``.
        """
        if now >= self.expires_at * SECOND:
            raise TokenExpired("the token has expired; get a new one and connect again")

    def has(self, scope: str) -> bool:
        """Whether the token has ``scope``."""
        return scope in self.scopes


def caller_from_claims(claims: Mapping[str, Any], prefix: str = "") -> Caller:
    """The caller that a verified access token's claims name; values may be texts, as API Gateway passes them.

    Scopes without ``prefix`` belong to other applications and are left out.

    Raises:
        Unauthorized: ``sub`` or ``exp`` is missing or unusable.
    """
    try:
        subject = normalize_id(str(claims["sub"]))
        expires_at = int(float(claims["exp"]))
    except (KeyError, ValueError, TypeError, OverflowError):
        raise Unauthorized("the token names no usable subject or expiry") from None
    scopes = str(claims.get("scope") or "").split()
    username = str(claims.get("username") or subject)[:128].encode("utf-8", "replace").decode()
    return Caller(
        subject=subject,
        username=username,
        scopes=frozenset(scope.removeprefix(prefix) for scope in scopes if scope.startswith(prefix)),
        expires_at=expires_at,
    )


def caller_from_http(event: Mapping[str, Any], prefix: str = "") -> Caller:
    """The caller of an HTTP API event (payload 2.0) behind a JWT authorizer, with its address.

    Raises:
        Unauthorized: no authorizer stood before this route, or the token names nobody.
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
