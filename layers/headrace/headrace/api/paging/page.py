"""Pages and items as clients see them. An item is encoded once, also for the cache."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headrace.core.json import encode

ITEM_FIELDS = ("roomId", "messageId", "timestamp", "userId", "username", "message", "messageType")


def item_of(row: Mapping[str, Any]) -> dict[str, Any]:
    """The item that a row shows: what was said, and ``key``, its place in the room."""
    item = {"key": row["timestampSk"]}
    item.update((name, row[name]) for name in ITEM_FIELDS if name in row)
    return item


def encoded(row: Mapping[str, Any]) -> str:
    """The item that a row shows, as JSON on one line."""
    return encode(item_of(row))


@dataclass(frozen=True, slots=True)
class Page:
    """``items`` are JSON texts, newest first; ``next`` leads to older messages, ``previous`` to newer ones."""

    items: Sequence[str]
    next: str | None
    previous: str | None
    has_more: bool

    def text(self) -> str:
        """The page as one JSON object."""
        items, more = ",".join(self.items), "true" if self.has_more else "false"
        return f'{{"items":[{items}],"next":{encode(self.next)},"previous":{encode(self.previous)},"hasMore":{more}}}'

    def body(self) -> dict[str, Any]:
        """The page as plain values."""
        items = [json.loads(item) for item in self.items]
        return {"items": items, "next": self.next, "previous": self.previous, "hasMore": self.has_more}


def cut(items: Sequence[str], room: int) -> int:
    """How many of the first ``items`` have together at most ``room`` bytes in UTF-8; at least one."""
    for count, item in enumerate(items):
        room -= len(item.encode())
        if room < 0:
            return max(count, 1)
    return len(items)


ROWS = 20
"""The longest page that comes from the cache: the default one. One more item is kept, to know that there is more."""


@dataclass(frozen=True, slots=True)
class CachedPage:
    """A room's newest ``items`` as JSON, newest first; ``is_complete``: the room has no others."""

    items: Sequence[str]
    is_complete: bool
