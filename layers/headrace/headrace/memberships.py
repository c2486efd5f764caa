"""Memberships: when a user was in a room. One row per user and room, with two string sets, ``joins`` and ``leaves``.

A join or leave is ONE UpdateItem that ADDs ``time#eventId`` to its set. Adding to a set is commutative and idempotent,
so late, repeated and reordered events give the same sets, and no writer ever writes back what it has read. Intervals
are folded from the sets whenever they are read.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from headrace.keys import parse_membership_event

Role = Literal["owner", "member"]
Kind = Literal["join", "leave"]


@dataclass(frozen=True, slots=True)
class Interval:
    """One stay of a user in a room: [``joined_at``, ``left_at``) in canonical times; ``None``: still there."""

    joined_at: str
    left_at: str | None

    def covers(self, timestamp: str) -> bool:
        """Whether ``timestamp`` (canonical) is in it."""
        return self.joined_at <= timestamp and (self.left_at is None or timestamp < self.left_at)


def fold(joins: Iterable[str], leaves: Iterable[str]) -> tuple[Interval, ...]:
    """The intervals that events of the form ``time#eventId`` come to, oldest first; they never overlap.

    Events count in the order of their times. A join while in the room adds nothing, nor does a leave while outside.
    At the same microsecond joins count before leaves, so that a leave is never lost; a stay of no length is none.
    """
    events = sorted(
        [(parse_membership_event(join)[0], 0) for join in joins]
        + [(parse_membership_event(leave)[0], 1) for leave in leaves]
    )
    intervals: list[Interval] = []
    joined_at: str | None = None
    for timestamp, left in events:
        if not left:
            joined_at = joined_at or timestamp
        elif joined_at is not None:
            if joined_at < timestamp:
                intervals.append(Interval(joined_at, timestamp))
            joined_at = None
    if joined_at is not None:
        intervals.append(Interval(joined_at, None))
    return tuple(intervals)


@dataclass(frozen=True, slots=True)
class Membership:
    """What is known of one user in one room; without events the user was never there."""

    user_id: str
    room_id: str
    joins: frozenset[str] = frozenset()
    leaves: frozenset[str] = frozenset()
    role: Role = "member"
    username: str | None = None

    @property
    def intervals(self) -> tuple[Interval, ...]:
        """When the user was in the room, oldest first."""
        return fold(self.joins, self.leaves)

    @property
    def is_open(self) -> bool:
        """Whether the user is in the room: no leave counts after the last join."""
        intervals = self.intervals
        return bool(intervals) and intervals[-1].left_at is None
