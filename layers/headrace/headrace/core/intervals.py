"""Membership intervals: the times between a join and a leave."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Interval:
    """When a user was in a room: [``joined_at``, ``left_at``) in canonical times; ``None``: still there."""

    joined_at: str
    left_at: str | None

    def covers(self, timestamp: str) -> bool:
        """Whether ``timestamp`` (canonical) is in it."""
        return self.joined_at <= timestamp and (self.left_at is None or timestamp < self.left_at)
