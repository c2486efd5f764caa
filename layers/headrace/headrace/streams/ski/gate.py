"""Refuses rides of seasons that their resort does not have.

Seasons are never removed, so each is read once per environment. While the table of resorts is unavailable, rides are
accepted unchecked, because storing them is more important. They are shown once their season is added.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from headrace.core.caller import Caller
from headrace.core.errors import StoreThrottled, StoreUnavailable, UserError
from headrace.core.stream import ValidatedEvent
from headrace.runtime.bounded import BoundedDict
from headrace.runtime.cooldown import Cooldown
from headrace.runtime.observability import report
from headrace.streams.ski.resorts import Resort, Resorts, unknown_season

COOLDOWN_SECONDS = 5.0
"""Seconds without reads after the table was unavailable."""
CHECK_SECONDS = 0.5
"""Seconds after which a request reads no further resorts."""
REMEMBERED = 10_000
"""Seasons that an environment caches."""


class SeasonGate:
    """A :class:`~headrace.delivery.acceptor.Gate` for rides."""

    def __init__(self, resorts: Callable[[], Resorts], monotonic: Callable[[], float] = time.monotonic) -> None:
        self._resorts = resorts
        self._monotonic = monotonic
        self._cooldown = Cooldown(COOLDOWN_SECONDS, monotonic)
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
