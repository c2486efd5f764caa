"""Resorts and their seasons, and the gate that refuses rides of other seasons."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from headrace.core.caller import Caller
from headrace.core.collections import BoundedDict
from headrace.core.errors import FieldError, NotFound, StoreThrottled, StoreUnavailable, UserError
from headrace.core.sender import ValidatedEvent
from headrace.runtime.breaker import Cooldown
from headrace.runtime.observability import report

if TYPE_CHECKING:
    from headrace.features.ski.dynamodb import Resorts

CHECK_SECONDS = 0.5
"""Seconds after which a request reads no further resorts."""
REMEMBERED = 10_000
"""Seasons that an environment caches."""


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


def unknown_season(season: int, *asked: Resort, field: str = "seasonID") -> NotFound:
    """The error for an unknown ``season``; it lists the seasons of the resorts ``asked``."""
    known = sorted(set().union(*(resort.seasons for resort in asked)))
    what = ", ".join(map(str, known[-10:])) or "none yet"
    where = f"resort {asked[0].resort_id}" if len(asked) == 1 else "any resort asked for"
    allowed = f"a season of {where}: {what}; POST /resorts/{{resortID}}/seasons adds one"
    return NotFound(details=[FieldError(field, f"is not a season of {where}", season, allowed)])


class SeasonGate:
    """Refuses rides of seasons that their resort does not have: a :class:`~headrace.delivery.acceptor.Gate`.

    Seasons are never removed, so each is read once per environment. While the table of resorts is unavailable, rides
    are accepted unchecked, because storing them is more important. They are shown once their season is added.
    """

    def __init__(self, resorts: Callable[[], Resorts], monotonic: Callable[[], float] = time.monotonic) -> None:
        self._resorts = resorts
        self._monotonic = monotonic
        self._cooldown = Cooldown(monotonic)
        self._known: BoundedDict[tuple[int, int], None] = BoundedDict(REMEMBERED)

    def admit(self, _caller: Caller, events: Sequence[ValidatedEvent], _now: int) -> Sequence[UserError | None]:
        places = [(each.event["resortID"], each.event["seasonID"]) for each in events]
        unknown = {resort for resort, season in places if (resort, season) not in self._known}
        resorts = self._read(unknown) if unknown else {}
        return [
            unknown_season(season, resorts[resort])
            if resort in resorts and season not in resorts[resort].seasons
            else None
            for resort, season in places
        ]

    def _read(self, resort_ids: set[int]) -> dict[int, Resort]:
        found: dict[int, Resort] = {}
        if self._cooldown.is_active:
            return found
        deadline = self._monotonic() + CHECK_SECONDS
        try:
            for resort_id in sorted(resort_ids):
                if found and self._monotonic() >= deadline:
                    break
                found[resort_id] = self._resorts().get(resort_id)
        except StoreUnavailable as error:
            if not isinstance(error, StoreThrottled):
                self._cooldown.start()
            report("seasons", f"rides are accepted without a check of their season: {error.message}")
        self._known.update(((resort, season), None) for resort, each in found.items() for season in each.seasons)
        return found
