"""Memberships: when a user was in a room. One row per user and room, with two string sets, ``joins`` and ``leaves``.

A join or leave is one UpdateItem that adds ``time#eventId`` to its set, so late, repeated and reordered events give the
same sets. Intervals are computed from the sets on every read.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from headrace.core.keys import ID_LIMIT, TIME_LENGTH
from headrace.core.texts import visible
from headrace.core.times import Interval, micros_of

Role = Literal["owner", "member"]
EventKind = Literal["join", "leave"]
Pair = tuple[str, str]
"""A user and a room."""

OWNER: Role = "owner"
MEMBER: Role = "member"
EVENT_ID_LIMIT = 64
JOINS_LIMIT = 1000
LEAVES_LIMIT = 2000
"""Entries that each set may have. An entry has 27 characters of time and up to 64 of id, so two full sets have 276,000
bytes of the 400 KB that an item may have. When a set is full, the oldest closed interval makes room."""
INVITED = "#invited#"
INVITERS = "#inviters#"
"""How the partitions begin of a user's invitations, and of those who invited the user or are blocked."""
READ_LIMIT = 10_000
"""Memberships of a user that are read to find the newest ones."""


def state_of(last: Interval) -> dict[str, str]:
    """Whether a user with this last interval is in the room, and since when, as responses show it."""
    return (
        {"state": "in", "since": last.joined_at} if last.left_at is None else {"state": "left", "since": last.left_at}
    )


@dataclass(frozen=True, slots=True)
class Membership:
    """The joins and leaves of one user in one room. Without any, the user was never in the room.

    ``read_to`` is the position up to which the user has read, as :func:`headrace.core.keys.parse_read_mark` gives it.
    ``added_by`` is the user who added this one at once, if the user did not join themselves.
    """

    user_id: str
    room_id: str
    joins: frozenset[str] = frozenset()
    leaves: frozenset[str] = frozenset()
    role: Role = "member"
    username: str | None = None
    read_to: str | None = None
    left_for_good: bool = False
    added_by: str | None = None

    @property
    def intervals(self) -> tuple[Interval, ...]:
        """When the user was in the room, oldest first."""
        return fold(self.joins, self.leaves)

    @property
    def shown_name(self) -> str:
        return shown_name(self.username, self.user_id)

    @property
    def is_open(self) -> bool:
        """Whether the user is in the room: no leave counts after the last join."""
        intervals = self.intervals
        return bool(intervals) and intervals[-1].left_at is None

    def event_at(self, kind: EventKind, timestamp: str) -> str | None:
        """The id of the event of that kind and time; the first in order if there are several."""
        prefix = membership_event(timestamp, "")
        found = (each for each in (self.joins if kind == "join" else self.leaves) if each.startswith(prefix))
        return min((each.removeprefix(prefix) for each in found), default=None)

    @property
    def last_event(self) -> str:
        """The time of the last join or leave; "" if there is none."""
        return max(self.joins | self.leaves, default="")[:TIME_LENGTH]

    def next_time(self, now: int) -> int:
        """``now``, or one microsecond after the last event, if that is later.

        Clocks of two environments may differ: without this a leave could come before the join that it answers.
        """
        return max(now, micros_of(self.last_event) + 1) if self.last_event else now


def shown_name(username: str | None, user_id: str) -> str:
    """The name that others see: the user's name if it is known and allowed in a message, else the id."""
    try:
        return visible(username or user_id, ID_LIMIT, "#")
    except ValueError:
        return user_id


def newest(memberships: Iterable[Membership], limit: int) -> tuple[list[Membership], bool]:
    """Up to ``limit`` memberships that lists show, and whether there are more: rooms the user is in before others."""
    shown = [each for each in memberships if each.intervals and not each.left_for_good]
    shown.sort(key=lambda each: (each.is_open, each.last_event), reverse=True)
    return shown[:limit], len(shown) > limit


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One join or leave to add. ``None`` keeps the stored ``role`` and ``username``; a leave removes the role.

    A join removes ``added_by``, or sets it.
    """

    user_id: str
    room_id: str
    kind: EventKind
    event: str
    role: Role | None = None
    username: str | None = None
    added_by: str | None = None


def membership_event(timestamp: str, event_id: str) -> str:
    """A join or leave in the sets of a membership: ordered by time, then id."""
    return f"{timestamp}#{event_id}"


def fold(joins: Iterable[str], leaves: Iterable[str]) -> tuple[Interval, ...]:
    """The intervals that result from joins and leaves, oldest first; they never overlap.

    Events count in the order of their times. A join inside the room and a leave outside it change nothing.
    At the same microsecond joins count before leaves, so that a leave is never lost; empty intervals are left out.
    """
    return tuple(
        Interval(joined[:TIME_LENGTH], None if left is None else left[:TIME_LENGTH])
        for joined, left in _pairs(joins, leaves)
    )


def forgettable(joins: frozenset[str], leaves: frozenset[str]) -> frozenset[str]:
    """The events that make room for others: those that change nothing, else the ends of the oldest closed interval."""
    pairs = _pairs(joins, leaves)
    used = {event for pair in pairs for event in pair if event is not None}
    first = {event for event in pairs[0] if event is not None} if len(pairs) > 1 else set[str]()
    return (joins | leaves) - used or frozenset(first)


def _pairs(joins: Iterable[str], leaves: Iterable[str]) -> list[tuple[str, str | None]]:
    """The join and the leave of each interval."""
    events = sorted(
        [(join[:TIME_LENGTH], 0, join) for join in joins] + [(leave[:TIME_LENGTH], 1, leave) for leave in leaves]
    )
    pairs: list[tuple[str, str | None]] = []
    join: str | None = None
    for timestamp, left, event in events:
        if not left:
            join = join or event
        elif join is not None:
            if join[:TIME_LENGTH] < timestamp:
                pairs.append((join, event))
            join = None
    if join is not None:
        pairs.append((join, None))
    return pairs
