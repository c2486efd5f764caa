"""The names of exchanges and queues, and the queue of each event."""

from __future__ import annotations

import zlib
from collections.abc import Mapping

PERSIST_EXCHANGE = "headrace.events"
PERSIST_PREFIX = "persist."
PARKED_EXCHANGE = "headrace.parked"
PARKED_QUEUE = "parked"
LIVE_EXCHANGE = "headrace.live"
LIVE_QUEUES = 2
"""Constant: each queue of live copies has an event source mapping in the template (PushLive)."""
SIGNAL_QUEUE = "live.signals"
"""The queue of all signals. No number of them takes the place of live copies, or makes these wait."""


Groups = Mapping[str, int]
"""How many persist queues there are for each stream, by its name, and for all declared streams together."""


def queue_name(group: str, event_id: str, groups: Groups) -> str:
    """The persist queue of an event: one of its group, by its id, so that a busy room's events are in all of them.

    Of a group that there is not, it is the first, which is not declared: its events take the retry lane.
    """
    return persist_queue(group, zlib.crc32(event_id.encode()) % groups.get(group, 1))


def persist_queue(stream: str, number: int) -> str:
    """The name of persist queue ``number`` of a stream, which is also its routing key."""
    return f"{PERSIST_PREFIX}{stream}.{number}"


def persist_queues(groups: Groups) -> list[str]:
    """The names of all persist queues."""
    return [persist_queue(stream, number) for stream, count in groups.items() for number in range(count)]


def live_queue(room_id: str) -> str:
    """The queue of a room's live copies, which is also its routing key: one per room, which preserves the order."""
    return _live_queue(zlib.crc32(room_id.encode()) % LIVE_QUEUES)


def live_queues() -> list[str]:
    """The names of all live queues: those of live copies, and that of signals."""
    return [*map(_live_queue, range(LIVE_QUEUES)), SIGNAL_QUEUE]


def _live_queue(number: int) -> str:
    return f"live.{number}"
