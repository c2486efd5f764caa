"""Turns of large rooms, so that the listeners of one room cannot take the time of all rooms of a queue (ADR 19)."""

from __future__ import annotations

from collections.abc import Callable

from headrace.core.collections import BoundedDict
from headrace.live.copies import LiveCopy

SMALL_ROOM = 50
"""Listeners up to which a room is pushed with every batch: more than one user may have in it."""
BATCH_SECONDS = 5.0
"""How long a batch may take; the next ones wait in the queue."""
TURN_SECONDS = 2.0
"""How long all large rooms of a batch may take together."""
REST = 2.0
"""How long large rooms wait after a turn, as a multiple of the time that it took."""
SHORT_TURN_SECONDS = 0.1
"""A turn up to this long needs no rest: waiting messages go out with the next batch, which may be long in coming."""
ACTIVE_SECONDS = 10.0
"""How long after their last message other rooms count as active. If none is, large rooms have all the time."""
WAITING_ROOMS = 50
"""Rooms whose messages are kept while they wait; listeners of more rooms miss theirs."""
KEPT_ITEMS = 200
"""Items that are kept for a room that waits; of more, the oldest are missed."""
LARGE_ROOMS = 1000
"""Large rooms that an environment remembers."""


class Turns:
    """Which rooms are pushed with a batch, and for how long. ``clock`` gives seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._large: BoundedDict[str, None] = BoundedDict(LARGE_ROOMS)
        self._waiting: dict[str, LiveCopy] = {}
        self._next_turn = self._others_until = float("-inf")

    def begin(self, rooms: dict[str, LiveCopy]) -> dict[str, LiveCopy]:
        """The rooms to push now: without large ones that have to wait, or with those that have waited."""
        if self.must_wait:
            for room_id in [each for each in rooms if each in self._large]:
                self.wait(rooms.pop(room_id))
            return rooms
        waited, self._waiting = self._waiting, {}
        for room_id, news in waited.items():
            if room_id in rooms:
                news.add(rooms[room_id])
                news.keep(KEPT_ITEMS)
            rooms[room_id] = news
        return rooms

    def is_large(self, room_id: str, listeners: int) -> bool:
        """Whether a room has too many listeners to be pushed at once; with fewer it counts as active from now on."""
        if listeners > SMALL_ROOM:
            self._large[room_id] = None
            return True
        self._large.pop(room_id, None)
        if listeners:
            self._others_until = self._clock() + ACTIVE_SECONDS
        return False

    @property
    def must_wait(self) -> bool:
        """Whether large rooms have to wait: the last turn was a short time ago, and other rooms are active."""
        # A clock that was set back must not make them wait for long.
        return self._others_are_active and 0 < self._next_turn - self._clock() <= REST * BATCH_SECONDS

    @property
    def seconds(self) -> float:
        """How long a turn may take."""
        return TURN_SECONDS if self._others_are_active else BATCH_SECONDS

    def wait(self, news: LiveCopy) -> None:
        """Keep what is new in a large room for its next turn."""
        kept = self._waiting.setdefault(news.room_id, LiveCopy(news.room_id))
        kept.add(news)
        kept.keep(KEPT_ITEMS if len(self._waiting) <= WAITING_ROOMS else 0)

    def waits(self, room_id: str) -> bool:
        """Whether messages of a room wait for its next turn."""
        return room_id in self._waiting

    def ended(self, seconds: float) -> None:
        """Record that a turn of so many seconds has ended."""
        rest = REST * min(seconds, BATCH_SECONDS) if seconds > SHORT_TURN_SECONDS else 0.0
        self._next_turn = self._clock() + rest

    @property
    def _others_are_active(self) -> bool:
        return self._clock() < self._others_until
