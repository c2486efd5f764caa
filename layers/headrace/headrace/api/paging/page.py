"""Pages as clients see them. An item is encoded as JSON once, and stays text in the page and in the cache."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from headrace.core.json import encode


@dataclass(frozen=True, slots=True)
class Page:
    """``items`` are JSON texts, newest first; ``next`` leads to older items, ``previous`` to newer ones.

    Pages of a room have a ``position`` (:mod:`headrace.streams.chat.messages.positions`).
    """

    items: Sequence[str]
    next: str | None
    previous: str | None
    has_more: bool
    position: str | None = None

    def text(self) -> str:
        """The page as one JSON object."""
        items, more = ",".join(self.items), "true" if self.has_more else "false"
        position = "" if self.position is None else f',"position":{encode(self.position)}'
        cursors = f'"next":{encode(self.next)},"previous":{encode(self.previous)}'
        return f'{{"items":[{items}],{cursors},"hasMore":{more}{position}}}'


def cut(items: Sequence[str], room: int) -> int:
    """How many of the first ``items`` fit into ``room`` bytes of UTF-8; at least one."""
    for count, item in enumerate(items):
        room -= len(item.encode())
        if room < 0:
            return max(count, 1)
    return len(items)


ROWS = 20
"""The longest page that is served from the cache. One more item is cached, to know whether there is more."""


@dataclass(frozen=True, slots=True)
class CachedPage:
    """A room's newest ``items`` as JSON, newest first; ``is_complete``: the room has no other items."""

    items: Sequence[str]
    is_complete: bool
