"""The routes of WebSocket connections: open, close, renew the token."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from headrace.api import responses
from headrace.api.claims import SUBPROTOCOL, caller_from_frame
from headrace.api.params import Params
from headrace.api.responses import RequestId
from headrace.api.router import Request
from headrace.core.errors import FieldError, Forbidden
from headrace.core.fields import CanonicalTime
from headrace.live.dynamodb import Connections
from headrace.live.shares import Shares

if TYPE_CHECKING:
    # Only renew_connection verifies tokens, and loads cryptography.
    from headrace.api.authorizer import TokenVerifier


class Authenticated(TypedDict):
    """A renewed connection: its token is good until ``tokenExpiresAt``."""

    requestId: NotRequired[RequestId]
    correlationId: str
    type: Literal["authenticated"]
    tokenExpiresAt: CanonicalTime


class AuthenticateFrame(Params):
    """A new token."""

    unknown = "is not a field of this action"

    token: str = Field(min_length=1, description="an access token of the connection's user, with all of its scopes")


@dataclass(frozen=True, slots=True)
class RenewalServices:
    """What :func:`authenticate` uses."""

    verifier: TokenVerifier
    connections: Connections


def open_connection(shares: Shares, request: Request[None, None, Any]) -> dict[str, str]:
    """Store the connection; the answer's header selects the subprotocol, which browsers require.

    Raises:
        RateLimited: the user has too many, see :meth:`Shares.open`.
    """
    shares.open(request.event["requestContext"]["connectionId"], request.caller)
    return {"Sec-WebSocket-Protocol": SUBPROTOCOL}


def close_connection(shares: Shares, request: Request[None, None, Any]) -> dict[str, str]:
    """Delete the connection and its subscriptions."""
    shares.close(request.event["requestContext"]["connectionId"])
    return {}


def authenticate(services: RenewalServices, request: Request[None, None, AuthenticateFrame]) -> dict[str, Any]:
    """Renew the connection's token. Subscriptions continue.

    The new token must be of the same user, and have all scopes of the connection; the connection keeps its scopes and
    its user name. It may be renewed after its token has expired too. A token that expires earlier changes nothing.

    Raises:
        Unauthorized: not a valid token; TokenExpired.
        Forbidden: of another user, or without a scope of the connection.
    """
    caller = caller_from_frame(request.event, services.verifier.prefix)
    renewed = services.verifier.verify(request.body.token)
    if renewed.subject != caller.subject:
        detail = FieldError("token", "is a token of another user", None, "a token of the connection's user")
        raise Forbidden("the token is of another user", details=[detail])
    if missing := sorted(caller.scopes - renewed.scopes):
        detail = FieldError("token", "lacks a scope of the connection", " ".join(missing), "a token with all of them")
        raise Forbidden("the token lacks a scope of the connection", details=[detail])
    # API Gateway passes the claims of the handshake's token with every later frame too. So the new expiry is stored in
    # the connection's row, where TokenExpiries reads it.
    expires_at = services.connections.renew(request.event["requestContext"]["connectionId"], renewed.expires_at)
    return {"type": "authenticated", "tokenExpiresAt": responses.expiry(expires_at)}
