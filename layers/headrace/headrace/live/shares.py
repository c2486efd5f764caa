"""How many connections one user may have: open at the same time, and subscribed to one room.

A message is pushed once for each subscribed connection, so without a bound one user could take most of the time in
which messages are pushed. The index that is counted lags by some milliseconds: a user who connects very fast may get a
few more. Connections that ended without a ``$disconnect`` count until a push finds them closed, or until they expire.
"""

from __future__ import annotations

from headrace.core.caller import EVENTS_WRITE, Caller
from headrace.core.errors import FieldError, RateLimited, StoreUnavailable, echo
from headrace.live.connections import Connections
from headrace.runtime.observability import report

CONNECTIONS_PER_USER = 50
CONNECTIONS_PER_ROOM = 20
RETRY_SECONDS = 10
"""After which a refused client may try again: until then, another connection may have ended."""


def check_subscribe(connections: Connections, caller: Caller, room_id: str, connection_id: str) -> None:
    """Check that ``caller`` may subscribe a connection to a room. One that is subscribed may always do so again.

    Raises:
        RateLimited: ``CONNECTIONS_PER_ROOM`` others are subscribed. Callers with events:write have no bound.
    """
    others = connections_of(connections, caller, room_id)
    if connection_id not in others and len(others) >= CONNECTIONS_PER_ROOM:
        allowed = f"a room that you follow over fewer than {CONNECTIONS_PER_ROOM} connections"
        detail = FieldError("roomId", f"is followed over {len(others)} of your connections", echo(room_id), allowed)
        message = "you follow this room over too many connections"
        raise RateLimited(message, details=[detail], retry_after=RETRY_SECONDS)


def connections_of(connections: Connections, caller: Caller, room_id: str | None = None) -> set[str]:
    """The open connections of ``caller``, or those subscribed to a room; none for callers with events:write."""
    if caller.has(EVENTS_WRITE):
        return set()
    try:
        return connections.of_user(caller.subject, room_id)
    except StoreUnavailable as error:
        # Without the index no user is refused.
        report("live shares", f"the connections of a user are not counted: {error.message}")
        return set()
