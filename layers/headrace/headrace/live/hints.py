"""Which rooms have subscribers, so that messages of rooms without any cost almost nothing."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Mapping

from headrace.core.errors import CacheUnavailable, StoreUnavailable
from headrace.core.items import is_expired
from headrace.core.keys import room_key
from headrace.core.times import Clock
from headrace.runtime.breaker import Cooldown
from headrace.runtime.observability import report
from headrace.storage.dynamodb.client import DynamoTable
from headrace.storage.redis import Cache

CHECKED_ROWS = 25
"""Rows that are searched for one that has not expired; a room with more rows counts as one with subscribers."""
SOME = b"some"
NONE = b"none"
KEPT_SECONDS = 1.0
"""How long push_live may use the subscriptions of a room again."""
MARK_SECONDS = 30.0
"""How long a mark is valid, and how late live copies may begin if "some" could not be set."""
LOOK_SECONDS = MARK_SECONDS / 3
"""How long a read of the table may take to set "none"."""
LOOKS = 4
"""Rooms that are looked up in the table per batch of stored messages; others count as rooms with subscribers."""


class Audience:
    """The rows of subscriptions in the table of connections. Methods raise StoreUnavailable."""

    def __init__(self, table: DynamoTable, clock: Clock) -> None:
        self._table = table
        self._clock = clock

    def has_subscriptions(self, room_id: str) -> bool:
        """Whether a room may have subscriptions; true if uncertain. Reads ``CHECKED_ROWS`` of them at most."""
        rows, _ = self._table.query("roomId", room_id, ConsistentRead=True, Limit=CHECKED_ROWS)
        # Tokens are not looked at: one that has expired may have been renewed.
        return len(rows) == CHECKED_ROWS or not all(is_expired(row, self._clock.now()) for row in rows)


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
        audience: Audience,
        monotonic: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._cache = cache
        self._audience = audience
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
            if self._audience.has_subscriptions(room_id):
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
