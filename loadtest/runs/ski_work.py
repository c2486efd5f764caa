"""The rides of one phase, and all questions about them."""

from __future__ import annotations

import math
import random
from contextlib import closing

from loadtest.client.credentials import Sender
from loadtest.runs.place import Place
from loadtest.runs.posted_work import PostedWork
from loadtest.shapes.shape import Load
from loadtest.ski.queries import SkiQueries
from loadtest.ski.rides import SEASON, Ride, Season, make_season, post_rides
from localstage.client.errors import ClientError
from localstage.client.http_api import HttpApi


class SkiWork(PostedWork[Ride]):
    """One worker's rides: its own season of resorts and skiers."""

    user = "load-ski"
    request = staticmethod(post_rides)

    def _prepare(self) -> None:
        phase, place = self.phase, self._place
        rides = sum(_most(load, phase.seconds, place) for load in phase.loads) if phase.writes else 0
        self._season = make_season(rides, place.unique)
        # Shuffled, so that each skier's rides come from many clients.
        self._unsent = random.Random(place.unique).sample(self._season.rides, rides)
        # Read tests ask for the rides of the phase before them.
        self.ridden: list[Ride] = self.all_accepted if rides or self._before is None else self._before.ridden

    def begin(self) -> None:
        """Add the resorts."""
        if self._season.rides:
            with closing(self._target.http(self.user, "events:write")) as api:
                for resort in self._season.resorts:
                    api.post(f"/resorts/{resort}/seasons", {"year": str(SEASON), "resortName": f"Resort {resort}"})

    def make(self, _sender: Sender, _number: int, count: int) -> list[Ride]:
        """The next ``count`` rides to send."""
        taken = self._unsent[-count:]
        del self._unsent[-count:]  # without a copy of all others for each ride
        return taken

    def ride(self) -> Ride:
        """A ride to ask for.

        Raises:
            ClientError: no phase before this one sent rides.
        """
        if not self.ridden:
            raise ClientError("there are no rides to ask for: this phase needs one that sends rides before it")
        return random.choice(self.ridden)

    def _queries(self, api: HttpApi) -> SkiQueries:
        return SkiQueries(api, Season(self._season.name, tuple(self.all_accepted)))

    def _is_readable(self, api: HttpApi, event: Ride) -> bool:
        answer = api.get(f"/skiers/seasons/{SEASON}/days/{event.day}/skiers/{event.skier}")
        return any((each["time"], each["liftID"]) == (event.time, event.lift) for each in answer["rides"])


def _most(load: Load, seconds: float, place: Place) -> int:
    """At most so many rides will one worker's users of ``load`` take."""
    if load.events:
        return place.share(load.events)
    users = math.ceil(load.users / place.workers)
    return math.ceil(load.rate * seconds * users / load.users) + load.batch
