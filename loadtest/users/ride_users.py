"""Locust users that send lift rides, and ask about them."""

from __future__ import annotations

import random

from loadtest.runs.phase_run import PhaseRun
from loadtest.runs.ski_work import SkiWork
from loadtest.sending.arrivals import Arrival
from loadtest.ski.rides import SEASON, Ride, post_rides
from loadtest.users.posting import Posting
from loadtest.users.stage_user import Asking
from localstage.client.errors import ClientError
from localstage.client.http_api import HttpApi


def ski_of(run: PhaseRun) -> SkiWork:
    """The ski work of ``run``."""
    assert isinstance(run.work, SkiWork)  # noqa: S101 - the catalog gives ski users ski phases only
    return run.work


class RideSender(Posting):
    """Posts rides, one or a batch at a time."""

    posts = "rides"

    def connect(self, run: PhaseRun) -> None:
        """Get a token."""
        self.open(self.target.token_for("load-ski", "events:write"), post_rides, ski_of(run))

    def act(self, run: PhaseRun, arrival: Arrival) -> None:
        """Post one ride or one batch."""
        self.post(run, ski_of(run).rides(arrival.events), arrival.due)


class _RideReader(Asking):
    abstract = True

    def ride(self, run: PhaseRun) -> Ride:
        """A ride to ask for."""
        ridden = ski_of(run).ridden
        if not ridden:
            raise ClientError("there are no rides to ask for: this phase needs one that sends rides before it")
        return random.choice(ridden)


class SkiersOfDayReader(_RideReader):
    """Asks for the unique skiers of a resort's day."""

    question = "skiers of a day"

    def ask(self, api: HttpApi, run: PhaseRun) -> None:
        """Ask."""
        ride = self.ride(run)
        api.get(f"/resorts/{ride.resort}/seasons/{SEASON}/day/{ride.day}/skiers")


class DayVerticalReader(_RideReader):
    """Asks for the vertical of a skier's day."""

    question = "vertical of a day"

    def ask(self, api: HttpApi, run: PhaseRun) -> None:
        """Ask."""
        api.get_value(self.ride(run).path())


class SeasonVerticalReader(_RideReader):
    """Asks for the vertical of a skier's seasons at a resort."""

    question = "vertical of a season"

    def ask(self, api: HttpApi, run: PhaseRun) -> None:
        """Ask."""
        ride = self.ride(run)
        api.get(f"/skiers/{ride.skier}/vertical", {"resort": str(ride.resort)})


class RidesReader(_RideReader):
    """Asks for the rides of a resort's day per hour or on a lift, or for a skier's day or season."""

    question = "questions about rides"

    def ask(self, api: HttpApi, run: PhaseRun) -> None:
        """Ask one of the four."""
        ride = self.ride(run)
        of_day, of_skiers = f"/resorts/{ride.resort}/seasons/{SEASON}/days/{ride.day}", f"/skiers/seasons/{SEASON}"
        path = random.choice(
            [
                f"{of_day}/hours",
                f"{of_day}/lifts/{ride.lift}",
                f"{of_skiers}/days/{ride.day}/skiers/{ride.skier}",
                f"{of_skiers}/skiers/{ride.skier}",
            ]
        )
        api.get(path)
