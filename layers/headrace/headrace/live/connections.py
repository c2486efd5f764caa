"""Live connections: one row per connection, and one per room to which it subscribes.

All rows expire, because ``$disconnect`` is best effort: API Gateway ends a connection after two hours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headrace.core.caller import Caller
from headrace.core.collections import BoundedDict
from headrace.core.items import is_expired
from headrace.core.times import SECOND, Clock
from headrace.live.hints import KEPT_SECONDS

CONNECTION_SECONDS = 2 * 3600
GRACE_SECONDS = 600
WARNING_SECONDS = 300
"""How long before its expiry the frames with new messages say that a token expires soon."""
REMEMBERED = 10_000
"""Connections whose renewed expiry an environment remembers."""
KEPT_ROOMS = 100


@dataclass(frozen=True, slots=True)
class Subscription:
    """A connection in a room; it may read messages from ``since`` on (a canonical time; ``None``: all).

    ``is_expiring``: its token expires within ``WARNING_SECONDS``.
    """

    connection_id: str
    user_id: str
    since: str | None = None
    is_expiring: bool = False


def connection_room(connection_id: str) -> str:
    """The partition key of the row in Connections that describes a connection.

    No room id contains ``#``; the connection id spreads the rows over partitions.
    """
    return f"#connection#{connection_id}"


def subscription_row(
    room_id: str, connection_id: str, caller: Caller, connected_at: int, since: str | None
) -> dict[str, Any]:
    """The row of a connection in a room."""
    row = {
        "roomId": room_id,
        "connectionId": connection_id,
        "userId": caller.subject,
        "tokenExpiresAt": caller.expires_at,
        "expiresAt": connected_at + CONNECTION_SECONDS + GRACE_SECONDS,
    }
    return row if since is None else row | {"since": since}


def unexpired(rows: Iterable[Mapping[str, Any]], renewed: Mapping[str, int], now: int) -> list[Subscription]:
    """The subscriptions that have not expired at ``now``; ``renewed`` has the expiries of those that need renewal."""
    seconds, found = now // SECOND, list[Subscription]()
    for row in rows:
        expires_at = max(row["tokenExpiresAt"], renewed.get(row["connectionId"], 0))
        if not is_expired(row, now) and expires_at > seconds:
            is_expiring = expires_at <= seconds + WARNING_SECONDS
            found.append(Subscription(row["connectionId"], row["userId"], row.get("since"), is_expiring))
    return found


class KeptRows:
    """The rows of up to ``KEPT_ROOMS`` rooms, each with the mark for which they were read, for ``KEPT_SECONDS``."""

    def __init__(self) -> None:
        self._rooms: BoundedDict[str, tuple[str, int, Sequence[Mapping[str, Any]]]] = BoundedDict(KEPT_ROOMS)

    def get(
        self, room_id: str, mark: str, now: int, read: Callable[[str], Iterable[Mapping[str, Any]]]
    ) -> Sequence[Mapping[str, Any]]:
        """The rows that are kept for ``mark``, or else those that ``read`` returns; ``now`` in microseconds."""
        kept_mark, at, rows = self._rooms.get(room_id, ("", 0, ()))
        if not mark or mark != kept_mark or not 0 <= now - at < KEPT_SECONDS * SECOND:
            rows = list(read(room_id))
            self.drop([each for each, (_, since, _) in self._rooms.items() if now - since >= KEPT_SECONDS * SECOND])
            if mark:
                self._rooms[room_id] = mark, now, rows
        return rows

    def drop(self, room_ids: Iterable[str]) -> None:
        """Keep nothing of these rooms."""
        for room_id in room_ids:
            self._rooms.pop(room_id, None)


class TokenExpiries:
    """When the tokens of connections expire: what ``read`` returns, such as :meth:`Connections.expiries`.

    An expiry is read again once it has passed, because the token may have been renewed. With ``recheck_seconds`` it is
    read at most that often, and already in the last ``WARNING_SECONDS`` before it.
    """

    def __init__(
        self, read: Callable[[Sequence[str]], Mapping[str, int]], clock: Clock, recheck_seconds: int = 0
    ) -> None:
        self._read = read
        self._clock = clock
        self._recheck_seconds = recheck_seconds
        self._known: BoundedDict[str, tuple[int, int]] = BoundedDict(REMEMBERED)
        """By connection: when its token expires, and until when that is not read again, in epoch seconds."""

    def get_many(self, connection_ids: Sequence[str]) -> dict[str, int]:
        """The expiries in epoch seconds; 0 for a closed connection. Raises StoreUnavailable."""
        now = self._clock.now() // SECOND
        unknown = [each for each in connection_ids if self._known.get(each, (0, 0))[1] <= now]
        found = self._read(unknown) if unknown else {}
        for each in unknown:
            expires_at = found.get(each, 0)
            good_until = expires_at - WARNING_SECONDS if self._recheck_seconds else expires_at
            self._known[each] = expires_at, max(good_until, now + self._recheck_seconds)
        return {each: self._known[each][0] for each in connection_ids if each in self._known}
