"""What is new in rooms: the live copies of a batch, merged by room."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from headrace.core.errors import PoisonRecord
from headrace.live import frames
from headrace.queues.rabbitmq.event import rabbit_body
from headrace.runtime.observability import Meter, report

KEPT_ITEMS = 200
"""Items that are kept for a room that waits; of more, the oldest are missed."""


@dataclass(slots=True)
class News:
    """What is new in a room: its items by key, the latest position, and whether earlier messages are missing."""

    items: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    position: str = ""
    missed: bool = False

    def add(self, copy: frames.LiveCopy) -> None:
        """Add the content of a live copy."""
        self.items.update((item["key"], item) for item in copy.items)
        self.position = max(self.position, copy.position)
        self.missed = self.missed or copy.missed

    def add_later(self, later: News) -> None:
        """Add what came after this; of more than ``KEPT_ITEMS``, the oldest are missed."""
        self.items.update(later.items)
        self.position = max(self.position, later.position)
        self.missed = self.missed or later.missed
        while len(self.items) > KEPT_ITEMS:
            del self.items[next(iter(self.items))]
            self.missed = True


def news_of(event: Mapping[str, Any], meter: Meter) -> dict[str, News]:
    """What is new by room in a RabbitMQ event, in its order."""
    rooms: dict[str, News] = {}
    for queue in event["rmqMessagesByQueue"].values():
        for record in queue:
            try:
                copy = frames.parse(rabbit_body(record))
            except (PoisonRecord, ValueError):
                meter.count("LiveUnreadable")
                report("live push", "a live copy cannot be read")
                continue
            rooms.setdefault(copy.room_id, News()).add(copy)
    return rooms
