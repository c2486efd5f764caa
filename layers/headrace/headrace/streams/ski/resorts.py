"""Resorts and their seasons, and until when the counts of a resort's days are invalid."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Protocol

from headrace.core.errors import FieldError, NotFound


@dataclass(frozen=True, slots=True)
class Resort:
    """A resort; one that was never added has no seasons.

    ``invalid_until`` is in epoch milliseconds: counts of its days that were started before then may miss rides.
    """

    resort_id: int
    name: str | None = None
    seasons: frozenset[int] = field(default=frozenset())
    invalid_until: int = 0

    def require(self, season: int) -> None:
        """Raise NotFound, with the seasons that exist, unless ``season`` is one of this resort's."""
        if season not in self.seasons:
            raise unknown_season(season, self)


class Resorts(Protocol):
    """Stores resorts. Every method may raise StoreUnavailable."""

    def get(self, resort_id: int) -> Resort:
        """The resort as of now; an unknown one has no seasons."""

    def every(self) -> list[Resort]:
        """All resorts that have a season, by id."""

    def add_season(self, resort_id: int, season: int, name: str | None = None) -> bool:
        """Add a season, and an unknown resort. ``name`` replaces its name. Returns whether the season is new."""

    def invalidate_counts(self, resort_ids: Iterable[int], until: int) -> None:
        """Invalidate counts of these resorts that were started before ``until`` (epoch milliseconds)."""


def unknown_season(season: int, *asked: Resort, field: str = "seasonID") -> NotFound:
    """The error for an unknown ``season``; it lists the seasons of the resorts ``asked``."""
    known = sorted(set().union(*(resort.seasons for resort in asked)))
    what = ", ".join(map(str, known[-10:])) or "none yet"
    where = f"resort {asked[0].resort_id}" if len(asked) == 1 else "any resort asked for"
    allowed = f"a season of {where}: {what}; POST /resorts/{{resortID}}/seasons adds one"
    message = f"is not a season of {where}"
    return NotFound(f"{field} {message}", details=[FieldError(field, message, season, allowed)])
