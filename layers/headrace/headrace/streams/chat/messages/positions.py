"""Positions: how a client asks for what was stored since an earlier answer, and the mark of messages stored late.

    {"items": […], "position": "p1763719258722861-4be1f0c2a97d"}   →   history since p1763719258722861-4be1f0c2a97d

A position is the server's time of an answer or of a frame with new messages. Its ``tag`` names the newest frame of the
room (:mod:`headrace.streams.chat.messages.room_log`): a client with all frames up to it has all messages stored until
then. Without a tag, a position is a time only.

Most messages are stored at most ``LATE`` after the time that they have.
The table is ordered by that time, so they are read from it, beginning ``OVERLAP`` before the position: pages repeat
some messages. A message that is stored later (by the retry lane, a redrive, an import) also has the attribute
``storedAt``, the key of the sparse index ``LateIndex``. So has a message that could not be appended to the log of its
room: its ``storedAt`` is ``UNLOGGED`` ahead.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Sequence
from typing import NamedTuple

from headrace.core.items import Item
from headrace.core.times import SECOND, iso
from headrace.streams.chat.stream import POSITION_PATTERN

LATE_INDEX = "LateIndex"
STORED_AT = "storedAt"
LATE = 10 * SECOND
"""A message that is written more than this after its own time is marked."""
OVERLAP = 40 * SECOND
"""How far before a position its reader starts: ``LATE``, 10 s for the write itself, 10 s for the push of a live copy,
2 s for the age of a cached page, and 8 s for clocks that differ and for the lag of the index."""
UNLOGGED = 600 * SECOND
"""How long positions find a message that is in no log of its room. So the next check of each client finds it, which is
at most 9 minutes later: positions may have moved on with frames that say nothing about this message."""
POSITION_FORM = "a position from an earlier answer or frame"

_FORM = re.compile(POSITION_PATTERN, re.ASCII)


class Position(NamedTuple):
    """A time in microseconds, and the tag of the room's newest frame at that time; "" if it is unknown."""

    time: int
    tag: str


def position(now: int, tag: str = "") -> str:
    """The position of an answer that was begun, or a frame that was made, at ``now`` (microseconds)."""
    return f"p{now:016d}-{tag}" if tag else f"p{now:016d}"


def new_tag() -> str:
    """A tag that no other frame has."""
    return secrets.token_hex(6)


def parse_position(text: str) -> Position:
    """The parts of a position.

    Raises:
        ValueError: not a position.
    """
    match = _FORM.fullmatch(text)
    if match is None:
        raise ValueError(f"must be {POSITION_FORM}")
    return Position(int(match[1]), match[2] or "")


def first_time(since: int) -> str:
    """The canonical time at which a reader of the position ``since`` (microseconds) starts."""
    return iso(max(0, since - OVERLAP))


def mark_late(items: Sequence[Item], now: int) -> None:
    """Give the messages that are stored late, at ``now`` (microseconds), the attribute of the late index."""
    bound, stored_at = iso(max(0, now - LATE)), iso(now)
    for item in items:
        if item["timestamp"] < bound:
            item[STORED_AT] = stored_at


def mark_unlogged(items: Sequence[Item], now: int) -> list[Item]:
    """Mark messages that are in no log of their rooms at ``now`` (microseconds); returns those without the mark."""
    found = [item for item in items if item.get(STORED_AT, "") <= iso(now)]
    for item in found:
        item[STORED_AT] = iso(now + UNLOGGED)
    return found
