"""How much one user may follow: a number of connections, of these in one room, and of rooms over each connection.

A message is pushed once for each subscribed connection. Without a bound, one user could take most of the time in which
messages are pushed. The cache keeps an upper bound of each number, which also counts what has ended. Only where that is
over a limit, or unknown, an index is read. An index lags by some milliseconds, so a user who connects very fast may get
a few more. Connections that ended without a ``$disconnect`` count until a push finds them closed, or until they expire.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from headrace.core.caller import EVENTS_WRITE, Caller
from headrace.core.errors import CacheUnavailable, FieldError, RateLimited, StoreUnavailable, echo
from headrace.core.keys import channel_stream, channel_user, room_key, sender_tag
from headrace.live.connections import CONNECTION_SECONDS, GRACE_SECONDS
from headrace.live.dynamodb import Connections
from headrace.runtime.observability import report
from headrace.storage.redis import Cache, Command

CONNECTIONS_PER_USER = 50
CONNECTIONS_PER_ROOM = 20
ROOMS_PER_CONNECTION = 1000
"""When a connection ends, its subscriptions are deleted within 10 s."""
RETRY_SECONDS = 10
"""After which a refused client may try again: until then, another connection may have ended."""
KEPT_SECONDS = CONNECTION_SECONDS + GRACE_SECONDS


class Shares:
    """Counts what each user follows. Callers with events:write have no bounds.

    A count, and the rooms of a connection, are kept for as long as a connection can last after its last subscription.
    If the cache loses its data or was away, users may follow more until then, and rows of ended connections expire.
    """

    def __init__(self, cache: Cache, connections: Connections) -> None:
        self._cache = cache
        self._connections = connections

    def open(self, connection_id: str, caller: Caller) -> None:
        """Count and store a connection. Raises RateLimited if ``CONNECTIONS_PER_USER`` are open, StoreUnavailable."""
        trusted = caller.has(EVENTS_WRITE)
        answers = None if trusted else self._run(_counting([f"opened:{sender_tag(caller.subject)}"]))
        is_small = trusted or (answers is not None and answers[0] <= CONNECTIONS_PER_USER)
        if not is_small and len(_read(lambda: self._connections.of_user(caller.subject))) >= CONNECTIONS_PER_USER:
            message = f"you have {CONNECTIONS_PER_USER} open connections, which is the most that one user may have"
            raise RateLimited(message, retry_after=RETRY_SECONDS)
        self._connections.open(connection_id, caller)

    def close(self, connection_id: str) -> None:
        """Delete a connection and its subscriptions. Raises StoreUnavailable; some may then be left."""
        self._connections.close(connection_id, self.rooms_of(connection_id))

    def refused(self, caller: Caller, room_ids: Sequence[str], connection_id: str) -> dict[str, RateLimited]:
        """Count subscriptions of a connection, and keep its rooms; the errors of those that are over a limit.

        A room that the connection follows already is never refused.
        """
        if not room_ids:
            return {}
        key, trusted, tag = _rooms(connection_id), caller.has(EVENTS_WRITE), sender_tag(caller.subject)
        counting = [] if trusted else _counting([f"{room_key('share', room_id)}:{tag}" for room_id in room_ids])
        answers = self._run([("SADD", key, *room_ids), ("SCARD", key), ("EXPIRE", key, KEPT_SECONDS), *counting])
        unsure = [] if trusted else room_ids
        if answers is not None and answers[1] <= ROOMS_PER_CONNECTION:
            counts = zip(room_ids, answers[3::2], strict=False)
            unsure = [room_id for room_id, count in counts if count > CONNECTIONS_PER_ROOM]
        found = {room_id: self._refusal(caller, room_id, connection_id) for room_id in unsure}
        return {room_id: error for room_id, error in found.items() if error is not None}

    def rooms_of(self, connection_id: str) -> set[str] | None:
        """The rooms that a connection follows, or did; ``None`` without the cache."""
        answers = self._run([("SMEMBERS", _rooms(connection_id))])
        return None if answers is None else {each.decode() for each in answers[0]}

    def followed(self, connection_id: str) -> set[str]:
        """The rooms to which a connection is subscribed; none if the index cannot be read.

        A new connection follows nothing, which the cache tells: many may open at once.
        """
        is_new = self.rooms_of(connection_id) == set()
        return set() if is_new else _read(lambda: self._connections.rooms_of(connection_id))

    def _refusal(self, caller: Caller, room_id: str, connection_id: str) -> RateLimited | None:
        others = _read(lambda: self._connections.of_user(caller.subject, room_id))
        if connection_id in others:
            return None
        field, kind, named = "roomId", "room", echo(room_id)
        if (user_id := channel_user(room_id)) is not None:
            field, kind, named = "userId", "user", echo(user_id)
        elif (stream := channel_stream(room_id)) is not None:
            field, kind, named = "key", "key", echo(stream[1])
        if len(others) >= CONNECTIONS_PER_ROOM:
            allowed = f"a {kind} that you follow over fewer than {CONNECTIONS_PER_ROOM} connections"
            detail = FieldError(field, f"is followed over {len(others)} of your connections", named, allowed)
            message = f"you follow this {kind} over too many connections"
            return RateLimited(message, details=[detail], retry_after=RETRY_SECONDS)
        if len(self.followed(connection_id)) >= ROOMS_PER_CONNECTION:
            allowed = f"fewer than {ROOMS_PER_CONNECTION} rooms per connection"
            detail = FieldError(field, "is one room too many for this connection", named, allowed)
            return RateLimited("this connection follows too many rooms", details=[detail], retry_after=RETRY_SECONDS)
        return None

    def _run(self, commands: Sequence[Command]) -> list[Any] | None:
        try:
            return self._cache.run(commands)
        except CacheUnavailable:
            return None


def _counting(keys: Sequence[str]) -> list[Command]:
    """Commands that add one to each count; every second answer is the new count."""
    return [command for key in keys for command in (("INCR", key), ("EXPIRE", key, KEPT_SECONDS))]


def _read(index: Callable[[], set[str]]) -> set[str]:
    """What ``index`` has; nothing if it cannot be read: without it, no user is refused."""
    try:
        return index()
    except StoreUnavailable as error:
        report("live shares", f"what a user follows is not counted: {error.message}")
        return set()


def _rooms(connection_id: str) -> str:
    return f"follows:{connection_id}"
