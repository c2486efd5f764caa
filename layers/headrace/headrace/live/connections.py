"""Live connections: one row per connection, and one per room to which it subscribes; and which rooms have subscribers.

All rows expire, because ``$disconnect`` is best effort: API Gateway ends a connection after two hours.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headrace.core.caller import Caller
from headrace.core.collections import BoundedDict
from headrace.core.errors import CacheUnavailable, StoreUnavailable
from headrace.core.keys import room_key
from headrace.core.times import SECOND, Clock
from headrace.runtime.breaker import Cooldown
from headrace.runtime.observability import report
from headrace.storage.ports import Cache

if TYPE_CHECKING:
    from headrace.live.dynamodb import Connections

CONNECTION_SECONDS = 2 * 3600
GRACE_SECONDS = 600
WARNING_SECONDS = 300
"""How long before its expiry the frames with new messages say that a token expires soon."""
CHECKED_ROWS = 25
"""Rows that are searched for one that has not expired; a room with more rows counts as one with subscribers."""
REMEMBERED = 10_000
"""Connections whose renewed expiry an environment remembers."""
SOME = b"some"
NONE = b"none"
KEPT_SECONDS = 1.0
"""How long push_live may use the subscriptions of a room again."""
KEPT_ROOMS = 100
MARK_SECONDS = 30.0
"""How long a mark is valid, and how late live copies may begin if "some" could not be set."""
LOOK_SECONDS = MARK_SECONDS / 3
"""How long a read of the table may take to set "none"."""
LOOKS = 4
"""Rooms that are looked up in the table per batch of stored messages; others count as rooms with subscribers."""


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


def is_open(row: Mapping[str, Any], now: int) -> bool:
    """Whether the row's connection may be open at ``now`` (microseconds); TTL may delete expired rows days later."""
    return bool(row["expiresAt"] > now // SECOND)


def unexpired(rows: Iterable[Mapping[str, Any]], renewed: Mapping[str, int], now: int) -> list[Subscription]:
    """The subscriptions that have not expired at ``now``; ``renewed`` has the expiries of those that need renewal."""
    seconds, found = now // SECOND, list[Subscription]()
    for row in rows:
        expires_at = max(row["tokenExpiresAt"], renewed.get(row["connectionId"], 0))
        if is_open(row, now) and expires_at > seconds:
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


def live_marker(room_id: str) -> str:
    """The cache key of whether a room has subscribers."""
    return room_key("live", room_id)


class SubscriberHints:
    """Says which rooms may have subscribers, so that messages of rooms without any cost almost nothing.

    A mark in the cache is "some" or "none"; without a mark, the table of connections is read. A subscribing connection
    first writes its row and then sets "some". A function that stores messages and finds no row sets "none", but only if
    there is no mark. Its read could miss a later row only if "none" is set after "some" has expired, so a read that
    takes long sets no mark. If it is uncertain, and without the cache, a room counts as one with subscribers.

    Each "some" has another random tag, and live copies carry the mark. So push_live may use the subscriptions that it
    has read for a copy again for copies with the same mark: no row has changed before these were stored.
    """

    def __init__(
        self,
        cache: Cache,
        connections: Connections,
        monotonic: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._cache = cache
        self._connections = connections
        self._monotonic = monotonic
        self._sleep = sleep
        self._cooldown = Cooldown(monotonic)

    def mark_changed(self, *room_ids: str) -> bool:
        """Set a new "some" for rooms after their subscriptions have changed; whether it is set."""
        try:
            self._set_some(*room_ids)
        except CacheUnavailable as error:
            report("live marker", f"the mark that a room has subscribers is not set: {error.message}")
            return False
        return True

    def mark_unsubscribed(self, room_id: str) -> None:
        """Set a new mark for a room after subscriptions are deleted. What is stored afterwards is not pushed to them.

        If it cannot be set, wait until push_live reads the subscriptions again.
        """
        if not self.mark_changed(room_id):
            self._sleep(KEPT_SECONDS)

    def _set_some(self, *room_ids: str) -> bytes:
        mark = SOME + b"-" + secrets.token_hex(6).encode()
        self._cache.set_many({live_marker(room_id): (mark, MARK_SECONDS) for room_id in room_ids})
        return mark

    def rooms_with_subscribers(self, marks: Mapping[str, bytes | None]) -> dict[str, str]:
        """The rooms that may have subscribers, of rooms with these ``marks``: reads the table at most four times.

        The result has the mark for their live copies: "" where the mark has no tag, which is good for one copy only.
        """
        unknown = [room_id for room_id, mark in marks.items() if mark is None][:LOOKS]
        found = {room_id: mark or SOME for room_id, mark in marks.items()}
        found |= {room_id: self._look(room_id) for room_id in unknown}
        return {room_id: "" if mark == SOME else mark.decode() for room_id, mark in found.items() if mark != NONE}

    def _look(self, room_id: str) -> bytes:
        if self._cooldown.is_active:
            return SOME
        began = self._monotonic()
        try:
            if self._connections.has_subscriptions(room_id):
                return self._set_some(room_id)
            is_late = self._monotonic() - began >= LOOK_SECONDS
            # Another mark wins: a connection has subscribed since the read.
            is_none = is_late or self._cache.add_many({live_marker(room_id): (NONE, MARK_SECONDS)})[0]
            return NONE if is_none else SOME
        except StoreUnavailable as error:
            self._cooldown.start()
            report("live audience", f"subscriptions cannot be read: {error.message}")
        except CacheUnavailable:
            pass
        return SOME
