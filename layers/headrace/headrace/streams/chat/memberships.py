"""Memberships: when a user was in a room. One row per user and room, with two string sets, ``joins`` and ``leaves``.

A join or leave is ONE UpdateItem that ADDs ``time#eventId`` to its set. Adding to a set is commutative and idempotent,
so late, repeated and reordered events give the same sets, and no writer ever writes back what it has read. Intervals
are folded from the sets whenever they are read.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from headrace.core.errors import Conflict, FieldError
from headrace.core.intervals import Interval
from headrace.core.keys import parse_membership_event
from headrace.core.times import micros_of

Role = Literal["owner", "member"]
EventKind = Literal["join", "leave"]
Pair = tuple[str, str]
"""A user and a room."""

OWNER: Role = "owner"
MEMBER: Role = "member"

EVENT_ID_LIMIT = 64
JOINS_LIMIT = 1000
LEAVES_LIMIT = 2000
"""Members of one set. With 27 characters of time and at most 64 of id, both sets full have 276,000 bytes, of the 400 KB
that an item may have. There is room for more leaves than joins, so that whoever could join can also leave."""


def fold(joins: Iterable[str], leaves: Iterable[str]) -> tuple[Interval, ...]:
    """The intervals that events of the form ``time#eventId`` come to, oldest first; they never overlap.

    Events count in the order of their times. A join while in the room adds nothing, nor does a leave while outside.
    At the same microsecond joins count before leaves, so that a leave is never lost; an interval of no length is none.
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
    """What is known of one user in one room; without events the user was never there.

    ``read_to`` is the position up to which the user has read, as :func:`headrace.core.keys.parse_read_mark` gives it.
    """

    user_id: str
    room_id: str
    joins: frozenset[str] = frozenset()
    leaves: frozenset[str] = frozenset()
    role: Role = "member"
    username: str | None = None
    read_to: str | None = None

    @property
    def intervals(self) -> tuple[Interval, ...]:
        """When the user was in the room, oldest first."""
        return fold(self.joins, self.leaves)

    @property
    def is_open(self) -> bool:
        """Whether the user is in the room: no leave counts after the last join."""
        intervals = self.intervals
        return bool(intervals) and intervals[-1].left_at is None

    def event_at(self, kind: EventKind, timestamp: str) -> str | None:
        """The id of the event of that kind and time; the first in order if there are several."""
        found = (parse_membership_event(each) for each in (self.joins if kind == "join" else self.leaves))
        return min((event_id for at, event_id in found if at == timestamp), default=None)

    def next_time(self, now: int) -> int:
        """``now``, or one microsecond after the last event that is known, if that is later.

        Clocks of two environments may differ: without this a leave could come before the join that it answers.
        """
        last = max((parse_membership_event(each)[0] for each in self.joins | self.leaves), default=None)
        return now if last is None else max(now, micros_of(last) + 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One join or leave to add, as ONE UpdateItem. ``role`` and ``username`` of ``None`` leave what is there.

    A leave takes the role away.
    """

    user_id: str
    room_id: str
    kind: EventKind
    event: str
    role: Role | None = None
    username: str | None = None


class Memberships(Protocol):
    """Keeps memberships. What was answered is seen by every later question.

    Every method may raise :class:`~headrace.core.errors.StoreUnavailable`.
    """

    def get(self, user_id: str, room_id: str) -> Membership:
        """What is known of one user in one room."""
        ...

    def get_many(self, pairs: Sequence[Pair]) -> dict[Pair, Membership]:
        """The same for several (user, room); what could not be read now is left out."""
        ...

    def add(self, change: Change) -> Membership:
        """Add a join or leave; the membership with it. Adding the same again changes nothing.

        Raises:
            Conflict: the set is full (``JOINS_LIMIT``, ``LEAVES_LIMIT``).
        """
        ...

    def set_role(self, user_id: str, room_id: str, role: Role) -> Membership:
        """Give a role; the membership with it."""
        ...

    def users_of(self, room_id: str, after: str | None, limit: int) -> tuple[list[str], bool]:
        """Up to ``limit`` users who are or were in the room, in order of their ids, and whether there are more.

        The index may not have heard yet of a user who joined for the first time a moment ago.
        """
        ...

    def rooms_of(self, user_id: str, limit: int) -> tuple[list[Membership], bool]:
        """Up to ``limit`` memberships of a user in order of their rooms' ids, and whether there are more."""
        ...

    def mark_read(self, user_id: str, room_id: str, position: str) -> bool:
        """Move the read mark of a membership that there is to ``position``; whether that was forward."""
        ...


def full(change: Change) -> Conflict:
    """The refusal of one more join or leave."""
    detail = FieldError("userId", "has come and gone too often", change.user_id, f"{JOINS_LIMIT} joins of one room")
    return Conflict("this user has joined or left this room too often", details=[detail])
