"""Positions: how a client asks for what was stored since an earlier answer, and the mark of messages stored late.

    {"items": […], "position": "p1763719258722861"}   →   GET /rooms/{roomId}/messages?since=p1763719258722861

A position is the server's time of an answer. Most messages are stored at most ``LATE`` after the time that they have.
The table is ordered by that time, so they are read from it, beginning ``OVERLAP`` before the position: pages repeat
some messages. A message that is stored later (by the retry lane, a redrive, an import) also has the attribute
``storedAt``, the key of the sparse index ``LateIndex``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from headrace.core.items import Item
from headrace.core.times import SECOND, iso

LATE_INDEX = "LateIndex"
STORED_AT = "storedAt"
LATE = 10 * SECOND
"""A message that is written more than this after its own time is marked."""
OVERLAP = 40 * SECOND
"""How far before a position its reader starts: ``LATE``, 10 s for the write itself, 10 s for the push of a live copy,
2 s for the age of a cached page, and 8 s for clocks that differ and for the lag of the index."""
POSITION_FORM = "a position from an earlier answer or frame"

_FORM = re.compile(r"p([0-9]{16})", re.ASCII)


def position(now: int) -> str:
    """The position of an answer that was begun at ``now`` (microseconds)."""
    return f"p{now:016d}"


def parse_position(text: str) -> int:
    """The time of a position in microseconds.

    Raises:
        ValueError: not a position.
    """
    match = _FORM.fullmatch(text)
    if match is None:
        raise ValueError(f"must be {POSITION_FORM}")
    return int(match[1])


def first_time(since: int) -> str:
    """The canonical time at which a reader of the position ``since`` (microseconds) starts."""
    return iso(max(0, since - OVERLAP))


def mark_late(items: Sequence[Item], now: int) -> None:
    """Give the messages that are stored late, at ``now`` (microseconds), the attribute of the late index."""
    bound, stored_at = iso(max(0, now - LATE)), iso(now)
    for item in items:
        if item["timestamp"] < bound:
            item[STORED_AT] = stored_at
