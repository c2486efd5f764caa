"""Renews the token of a WebSocket connection: the frame `authenticate`.

API Gateway passes the claims of the handshake's token with every frame, for as long as the connection lasts. A renewed
expiry is therefore stored in the connection's row. It is read only after the handshake's token has expired
(:class:`headrace.live.connections.TokenExpiries`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from headrace.api import responses
from headrace.api.auth import caller_from_frame
from headrace.api.params import Params
from headrace.api.router import Request
from headrace.core.errors import FieldError, Forbidden
from headrace.live.connections import Connections

if TYPE_CHECKING:
    # Only renew_connection verifies tokens, and loads cryptography.
    from headrace.api.authorizer import TokenVerifier


class Authenticated(TypedDict):
    """A renewed connection: its token is good until ``tokenExpiresAt``."""

    requestId: NotRequired[str | int | float]
    correlationId: str
    type: Literal["authenticated"]
    tokenExpiresAt: str


class AuthenticateFrame(Params):
    """A new token."""

    unknown = "is not a field of this action"

    token: str = Field(min_length=1, description="an access token of the connection's user, with all of its scopes")


@dataclass(frozen=True, slots=True)
class RenewalServices:
    """What the route uses."""

    verifier: TokenVerifier
    connections: Connections


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
    expires_at = services.connections.renew(request.event["requestContext"]["connectionId"], renewed.expires_at)
    return {"type": "authenticated", "tokenExpiresAt": responses.expiry(expires_at)}
