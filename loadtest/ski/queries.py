"""Runs every query of the ski stream and compares each answer with the rides that were sent."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from loadtest.checker.findings import Findings, settled
from loadtest.sending.queries import SAMPLED, Queries
from loadtest.ski.rides import SEASON, ResortDay, Ride, Season
from localstage.client.http_api import HttpApi

SAMPLED_LIFTS = 5


class SkiQueries(Queries):
    """Queries ``season``, whose rides were all accepted. Lost and unexpected rides are found per skier.

    Of skiers who are not in the sample, only the lifts of every day are compared.
    """

    def __init__(self, api: HttpApi, season: Season, **options: Any) -> None:
        super().__init__(api, **options)
        self._season = season
        self._days = season.by_day()
        self._skiers = season.by_skier()
        chance = random.Random(season.name)
        self._sample = set(chance.sample(sorted(self._skiers), min(SAMPLED, len(self._skiers))))

    def run_counts(self) -> Findings:
        """Run the queries about resorts and their days, whose answers have what was stored 20 s before."""
        listed = {each["resortID"] for each in self._api.get("/resorts")["resorts"]}
        self.findings.check("resorts", "", listed.issuperset(self._season.resorts), True)

        # Two days at a time: the first query of a day reads the whole day from the table.
        self._ask([partial(self._day, *key, day) for key, day in sorted(self._days.items())], 2)
        self._ask([partial(self._all_resorts, day) for day in sorted({day for _, day in self._days})], 1)
        self._ask([partial(self._resort, resort) for resort in self._season.resorts])
        return self.findings

    def run_histories(self) -> Findings:
        """Run the queries about skiers, which find lost and unexpected rides."""
        self._ask([partial(self._skier, skier, rides) for skier, rides in self._skiers.items()])
        return self.findings

    def _resort(self, resort: int) -> None:
        found = self._api.get(f"/resorts/{resort}/seasons")
        self.findings.check("seasons of a resort", str(resort), found, {"seasons": [str(SEASON)]})

    def _day(self, resort: int, day: int, seen: ResortDay) -> None:
        place, subject = f"/resorts/{resort}/seasons/{SEASON}", f"{resort}, day {day}"
        hours = [{"hour": hour, "rides": seen.hours[hour]} for hour in range(24)]
        found = settled(lambda: self._api.get(f"{place}/days/{day}/hours")["hours"], hours, self._patience)
        self.findings.check("rides per hour", subject, found, hours)
        skiers = self._api.get(f"{place}/day/{day}/skiers")["numSkiers"]
        self.findings.check("unique skiers", subject, skiers, len(seen.skiers))
        for lift in sorted(seen.lifts)[:SAMPLED_LIFTS]:
            answer = self._api.get(f"{place}/days/{day}/lifts/{lift}")
            self.findings.check("rides on a lift", f"{subject}, lift {lift}", answer["rides"], seen.lifts[lift])

    def _all_resorts(self, day: int) -> None:
        """Other runs may have sent rides of this day too."""
        answer = self._api.get(f"/resorts/seasons/{SEASON}/days/{day}/rides")
        found = Counter({each["liftID"]: each["rides"] for each in answer["lifts"]})
        expected = Counter(ride.lift for ride in self._season.rides if ride.day == day)
        lacking = answer["missing"], expected - found
        self.findings.check("rides at all resorts", f"day {day}", lacking, ([], Counter()))

    def _skier(self, skier: int, rides: Sequence[Ride]) -> None:
        days: dict[int, list[Ride]] = {}
        for ride in rides:
            days.setdefault(ride.day, []).append(ride)
        expected = [
            {"dayID": day, "vertical": _vertical(ridden), "lifts": [ride.lift for ride in ridden]}
            for day, ridden in days.items()
        ]
        found = self._api.get(f"/skiers/seasons/{SEASON}/skiers/{skier}")
        self.findings.check("days skied in a season", str(skier), found["days"], expected)
        self.findings.account(_lifts(found["days"]), _lifts(expected))
        if skier in self._sample:
            self._sampled_skier(skier, days)

    def _sampled_skier(self, skier: int, days: Mapping[int, Sequence[Ride]]) -> None:
        resort = next(iter(days.values()))[0].resort
        total = sum(_vertical(rides) for rides in days.values())
        found = self._api.get(f"/skiers/{skier}/vertical", {"resort": str(resort)})["resorts"]
        expected = [{"resortID": resort, "seasonID": str(SEASON), "totalVert": total}]
        self.findings.check("vertical of a season", str(skier), found, expected)
        for day, rides in days.items():
            subject = f"{skier}, day {day}"
            value = self._api.get_value(rides[0].path())
            self.findings.check("vertical of a day", subject, value, _vertical(rides))
            answer = self._api.get(f"/skiers/seasons/{SEASON}/days/{day}/skiers/{skier}")
            lifts = [(each["time"], each["resortID"], each["liftID"]) for each in answer["rides"]]
            ridden = [(ride.time, ride.resort, ride.lift) for ride in rides]
            self.findings.check("lifts of a day", subject, lifts, ridden)


def _vertical(rides: Sequence[Ride]) -> int:
    return sum(10 * ride.lift for ride in rides)


def _lifts(days: Sequence[Mapping[str, Any]]) -> Counter[tuple[int, int]]:
    return Counter((int(day["dayID"]), int(lift)) for day in days for lift in day["lifts"])
