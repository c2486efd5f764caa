"""Upper bounds of what one user follows, in the cache, so that the indexes of connections are rarely read."""

from __future__ import annotations

from headrace.core.caller import EVENTS_WRITE, Caller
from headrace.core.errors import CacheUnavailable
from headrace.core.keys import room_key, sender_tag
from headrace.live.connections import CONNECTION_SECONDS, GRACE_SECONDS
from headrace.live.routes import CONNECTIONS_PER_ROOM, ROOMS_PER_CONNECTION
from headrace.storage.ports import Command, Commands


class Shares:
    """Counts the subscriptions of a user to a room, and those of a connection, also repeated and ended ones.

    A count is kept for as long as a connection can last after its last subscription. So as long as the cache keeps its
    data, no more subscriptions than this are open. Where it is over a limit, the index tells how many there are.
    """

    def __init__(self, cache: Commands) -> None:
        self._cache = cache

    def is_small(self, caller: Caller, room_id: str, connection_id: str) -> bool:
        """Count a subscription; whether it is surely within the limits. Callers with events:write have none."""
        if caller.has(EVENTS_WRITE):
            return True
        keys = f"{room_key('share', room_id)}:{sender_tag(caller.subject)}", _rooms(connection_id)
        counting: list[Command] = [("INCR", key) for key in keys]
        try:
            answers = self._cache.run(
                [*counting, *(("EXPIRE", key, CONNECTION_SECONDS + GRACE_SECONDS) for key in keys)]
            )
        except CacheUnavailable:
            return False
        return bool(answers[0] <= CONNECTIONS_PER_ROOM and answers[1] <= ROOMS_PER_CONNECTION)

    def has_rooms(self, caller: Caller, connection_id: str) -> bool:
        """Whether a connection may follow rooms; true if that is unknown. It is wrong only if the cache lost its data.

        The subscriptions of callers with events:write are not counted.
        """
        if caller.has(EVENTS_WRITE):
            return True
        try:
            (found,) = self._cache.run([("EXISTS", _rooms(connection_id))])
        except CacheUnavailable:
            return True
        return bool(found)


def _rooms(connection_id: str) -> str:
    return f"rooms:{connection_id}"
