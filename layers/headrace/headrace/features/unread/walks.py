"""The order of a user's rooms, remembered in the cache while the pages of their list are read.

The order needs all memberships of the user and the rows of all their rooms. The first page reads them. The pages after
it take the order from the cache, and read the rooms that they show. Without the cache, each page reads all of them.
Rights are never remembered: a room that the user may not see any more is on no page.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from headrace.core.errors import CacheUnavailable
from headrace.core.json import encode
from headrace.core.keys import sender_tag
from headrace.runtime.observability import report
from headrace.storage.redis import Cache

WALK_SECONDS = 120.0
"""How long an order is remembered. A later page reads all rooms again, and continues at its place."""

Place = tuple[str, str]
"""A room in the list: the sort key or time of its newest activity, and its id."""


@dataclass(frozen=True, slots=True)
class Order:
    """Places, newest first. ``is_complete``: the user has no other rooms."""

    places: Sequence[Place]
    is_complete: bool


class Walks:
    """Orders of users in ``cache``. A failure of the cache fails no request."""

    def __init__(self, cache: Cache) -> None:
        self._cache = cache

    def find(self, user_id: str) -> Order | None:
        """The order of the user's rooms, as it was when all of them were read last."""
        try:
            (value,) = self._cache.get_many([_key(user_id)])
        except CacheUnavailable as error:
            report("walks", f"each page of a list reads all rooms: {error.message}")
            return None
        if value is None:
            return None
        is_complete, places = json.loads(value)
        return Order([(activity, room_id) for activity, room_id in places], is_complete)

    def keep(self, user_id: str, order: Order) -> None:
        """Remember the order for the pages that follow."""
        value = encode([order.is_complete, order.places]).encode()
        try:
            self._cache.set_many({_key(user_id): (value, WALK_SECONDS)})
        except CacheUnavailable as error:
            report("walks", f"each page of a list reads all rooms: {error.message}")


def _key(user_id: str) -> str:
    return f"walk:{sender_tag(user_id)}"
