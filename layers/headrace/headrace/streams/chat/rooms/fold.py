"""Membership intervals from joins and leaves, which are texts of the form ``time#eventId``."""

from __future__ import annotations

from collections.abc import Iterable

from headrace.core.keys import SEPARATOR, TIME_LENGTH
from headrace.core.times import Interval, is_canonical


def membership_event(timestamp: str, event_id: str) -> str:
    """A join or leave in the sets of a membership: ordered by time, then id."""
    return f"{timestamp}#{event_id}"


def parse_membership_event(member: str) -> tuple[str, str]:
    """The time and id of a join or leave.

    Raises:
        ValueError: not such a member.
    """
    timestamp, _, event_id = member.partition(SEPARATOR)
    if not is_canonical(timestamp) or not event_id or SEPARATOR in event_id:
        raise ValueError("not a join or leave")
    return timestamp, event_id


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
        [(parse_membership_event(join)[0], 0, join) for join in joins]
        + [(parse_membership_event(leave)[0], 1, leave) for leave in leaves]
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
