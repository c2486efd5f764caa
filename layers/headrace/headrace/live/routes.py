"""The routes of WebSocket connections: open, close, renew the token; and how many connections one user may have.

A message is pushed once for each subscribed connection. Without a bound, one user could take most of the time in which
messages are pushed. The index that is counted lags by some milliseconds, so a user who connects very fast may get a few
more. Connections that ended without a ``$disconnect`` count until a push finds them closed, or until they expire. The
index is read only where :mod:`headrace.live.shares` does not exclude that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from headrace.api import responses
from headrace.api.params import Params
from headrace.api.responses import RequestId
from headrace.api.router import Request
from headrace.core.caller import EVENTS_WRITE, SUBPROTOCOL, Caller, caller_from_frame
from headrace.core.errors import FieldError, Forbidden, RateLimited, StoreUnavailable, echo
from headrace.core.fields import CanonicalTime
from headrace.core.keys import channel_stream, channel_user
from headrace.live.connections import Connections
from headrace.runtime.observability import report

if TYPE_CHECKING:
    # Only renew_connection verifies tokens, and loads cryptography.
    from headrace.api.authorizer import TokenVerifier

CONNECTIONS_PER_USER = 50
CONNECTIONS_PER_ROOM = 20
ROOMS_PER_CONNECTION = 1000
"""When a connection ends, its subscriptions are deleted within 10 s."""
RETRY_SECONDS = 10
"""After which a refused client may try again: until then, another connection may have ended."""


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


def open_connection(connections: Connections, request: Request[None, None, Any]) -> dict[str, str]:
    """Store the connection; the answer's header selects the subprotocol, which browsers require.

    Raises:
        RateLimited: ``CONNECTIONS_PER_USER`` are open. Callers with events:write have no bound.
    """
    caller = request.caller
    if not caller.has(EVENTS_WRITE) and len(connections_of(connections, caller)) >= CONNECTIONS_PER_USER:
        message = f"you have {CONNECTIONS_PER_USER} open connections, which is the most that one user may have"
        raise RateLimited(message, retry_after=RETRY_SECONDS)
    connections.open(request.event["requestContext"]["connectionId"], caller)
    return {"Sec-WebSocket-Protocol": SUBPROTOCOL}


def close_connection(connections: Connections, request: Request[None, None, Any]) -> dict[str, str]:
    """Delete the connection and its subscriptions."""
    connections.close(request.event["requestContext"]["connectionId"])
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


def check_subscribe(connections: Connections, caller: Caller, room_id: str, connection_id: str) -> None:
    """Check that ``caller`` may subscribe a connection to a room. One that is subscribed may always do so again.

    Raises:
        RateLimited: ``CONNECTIONS_PER_ROOM`` others are subscribed, or the connection follows
            ``ROOMS_PER_CONNECTION`` other rooms. Callers with events:write have no bound.
    """
    if caller.has(EVENTS_WRITE):
        return
    others = connections_of(connections, caller, room_id)
    if connection_id in others:
        return
    field, kind, named = "roomId", "room", echo(room_id)
    if (user_id := channel_user(room_id)) is not None:
        field, kind, named = "userId", "user", echo(user_id)
    elif (followed := channel_stream(room_id)) is not None:
        field, kind, named = "key", "key", echo(followed[1])
    if len(others) >= CONNECTIONS_PER_ROOM:
        allowed = f"a {kind} that you follow over fewer than {CONNECTIONS_PER_ROOM} connections"
        detail = FieldError(field, f"is followed over {len(others)} of your connections", named, allowed)
        message = f"you follow this {kind} over too many connections"
        raise RateLimited(message, details=[detail], retry_after=RETRY_SECONDS)
    if len(followed_rooms(connections, connection_id)) >= ROOMS_PER_CONNECTION:
        allowed = f"fewer than {ROOMS_PER_CONNECTION} rooms per connection"
        detail = FieldError(field, "is one room too many for this connection", named, allowed)
        raise RateLimited("this connection follows too many rooms", details=[detail], retry_after=RETRY_SECONDS)


def followed_rooms(connections: Connections, connection_id: str) -> set[str]:
    """The rooms to which a connection is subscribed; none if the index cannot be read."""
    try:
        return connections.rooms_of(connection_id)
    except StoreUnavailable as error:
        report("live shares", f"the rooms of a connection cannot be read: {error.message}")
        return set()


def connections_of(connections: Connections, caller: Caller, room_id: str | None = None) -> set[str]:
    """The open connections of ``caller``, or those subscribed to a room; none if the index cannot be read."""
    try:
        return connections.of_user(caller.subject, room_id)
    except StoreUnavailable as error:
        # Without the index no user is refused.
        report("live shares", f"the connections of a user are not counted: {error.message}")
        return set()
