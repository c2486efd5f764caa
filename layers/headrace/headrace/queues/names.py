"""The names of exchanges and queues, and the queue of each event."""

from __future__ import annotations

import zlib

PERSIST_EXCHANGE = "headrace.events"
PARKED_EXCHANGE = "headrace.parked"
PARKED_QUEUE = "parked"
LIVE_EXCHANGE = "headrace.live"
LIVE_QUEUES = 2
"""Constant: each live queue has an event source mapping in the template (PushLive)."""


def queue_name(event_id: str, queues: int) -> str:
    """The persist queue of an event, by its id, so that the events of a busy room are spread over all queues."""
    return persist_queue(zlib.crc32(event_id.encode()) % queues)


def persist_queue(number: int) -> str:
    """The name of persist queue ``number``, which is also its routing key."""
    return f"persist.{number}"


def persist_queues(queues: int) -> list[str]:
    """The names of all persist queues."""
    return [persist_queue(number) for number in range(queues)]


def live_queue(room_id: str) -> str:
    """The live queue of a room, which is also its routing key: one per room, which preserves the room's order."""
    return live_queues()[zlib.crc32(room_id.encode()) % LIVE_QUEUES]


def live_queues() -> list[str]:
    """The names of all live queues."""
    return [f"live.{number}" for number in range(LIVE_QUEUES)]
