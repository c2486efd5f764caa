"""The rides of one phase, and all questions about them."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from functools import partial

from loadtest.client.target import Target
from loadtest.measured.measurements import Measurements
from loadtest.runs.place import Place
from loadtest.runs.posted_events import PostedEvents
from loadtest.runs.work import Findings, Sent
from loadtest.sending.draining import NEWEST, await_readable, settled
from loadtest.shapes.shape import Phase
from loadtest.ski.demo import add_resorts
from loadtest.ski.queries import CLIENTS, SkiQueries
from loadtest.ski.rides import SEASON, Ride, make_season
from localstage.client.http_api import HttpApi

USER = "load-ski"


class SkiWork:
    """One worker's rides: its own season of resorts and skiers. ``before`` is the phase before, if any."""

    def __init__(
        self, target: Target, phase: Phase, place: Place, measurements: Measurements, before: SkiWork | None
    ) -> None:
        self.posted: PostedEvents[Ride] = PostedEvents(measurements)
        self._target = target
        self._last = place.last
        self._before = before
        rides = sum(place.share(load.events) for load in phase.loads) if phase.writes else 0
        self._season = make_season(rides, place.unique)
        # Shuffled, so that each skier's rides come from many clients.
        self._unsent = random.Random(place.unique).sample(self._season.rides, rides)
        # Read tests ask for the rides of the phase before them.
        self.ridden: Sequence[Ride] = self._season.rides if rides or before is None else before.ridden

    def begin(self) -> None:
        """Add the resorts."""
        if self._season.rides:
            api = self._target.http(USER, "events:write")
            add_resorts(api, self._season)
            api.close()

    def rides(self, count: int) -> list[Ride]:
        """The next ``count`` rides to send."""
        taken, self._unsent = self._unsent[-count:], self._unsent[:-count]
        self.posted.attempted += len(taken)
        return taken

    def sent(self) -> Sent:
        """What was sent so far."""
        return self.posted.sent()

    def read_back(self) -> Findings:
        """Ask every question about the accepted rides."""
        if not self.posted.accepted:
            return Findings(0, 0, 0, at=time.monotonic())
        api = self._target.http(USER, "analytics:read", connections=CLIENTS, timeout=30.0)
        await_readable(partial(_is_readable, api, ride) for ride in self.posted.accepted[-NEWEST:])
        at = time.monotonic()
        found = settled(lambda: self._queries(api).run_skiers(lambda _: None))
        wrong = found.wrong + (self._wrong_counts(api) if self._last else [])
        api.close()
        examples = {"wrong": wrong[:5]} if wrong else {}
        return Findings(found.stored, found.lost, found.unexpected, wrong=len(wrong), examples=examples, at=at)

    def _queries(self, api: HttpApi) -> SkiQueries:
        return SkiQueries(api, self._season.only(self.posted.accepted))

    def _wrong_counts(self, api: HttpApi) -> list[str]:
        """The wrong counts of this phase and of all before it. Asked at the end, they have to be waited for once."""
        found = self._before._wrong_counts(api) if self._before is not None else []
        return found + (self._queries(api).run_counts(lambda _: None).wrong if self.posted.accepted else [])

    def close(self) -> None:
        """Nothing is open."""


def _is_readable(api: HttpApi, ride: Ride) -> bool:
    answer = api.get(f"/skiers/seasons/{SEASON}/days/{ride.day}/skiers/{ride.skier}")
    return any((each["time"], each["liftID"]) == (ride.time, ride.lift) for each in answer["rides"])
