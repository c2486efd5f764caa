"""The queries of the ski demo find a stage that loses, doubles or miscounts rides."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

from loadtest.checker.findings import Findings
from loadtest.ski.queries import SkiQueries
from loadtest.ski.rides import SEASON, Ride, Season, make_season

SEASON_OF = make_season(400, 7)


class Stage:
    """Answers as the platform does, from ``rides``."""

    def __init__(self, rides: list[Ride]) -> None:
        self._season = Season(7, tuple(rides))

    def get(self, path: str, query: Mapping[str, str] | None = None) -> dict[str, Any]:
        answer: dict[str, Any] = self.get_value(path)
        return answer

    def get_value(self, path: str) -> Any:
        for pattern, answer in ANSWERS.items():
            if match := re.fullmatch(pattern.replace("{s}", str(SEASON)), path):
                return answer(self._season, *map(int, match.groups()))
        raise AssertionError(path)


def _days(season: Season, skier: int) -> list[dict[str, Any]]:
    rides = season.by_skier().get(skier, [])
    found = []
    for day in sorted({ride.day for ride in rides}):
        lifts = [ride.lift for ride in rides if ride.day == day]
        found.append({"dayID": day, "vertical": 10 * sum(lifts), "lifts": lifts})
    return found


def _rides(season: Season, day: int, skier: int) -> list[dict[str, Any]]:
    rides = [ride for ride in season.by_skier().get(skier, []) if ride.day == day]
    return [{"time": ride.time, "resortID": ride.resort, "liftID": ride.lift} for ride in rides]


def _vertical(season: Season, resort: int, day: int, skier: int) -> int:
    return sum(10 * ride.lift for ride in season.rides if ride[:3] == (resort, day, skier))


def _total(season: Season, skier: int) -> dict[str, Any]:
    rides = season.by_skier()[skier]
    total = sum(10 * ride.lift for ride in rides)
    return {"resorts": [{"resortID": rides[0].resort, "seasonID": str(SEASON), "totalVert": total}]}


ANSWERS: dict[str, Any] = {
    "/resorts": lambda season: {"resorts": [{"resortID": each} for each in season.resorts]},
    r"/resorts/(\d+)/seasons": lambda _season, _resort: {"seasons": [str(SEASON)]},
    r"/resorts/(\d+)/seasons/{s}/days/(\d+)/hours": lambda season, *day: {
        "hours": [{"hour": hour, "rides": season.by_day()[day].hours[hour]} for hour in range(24)]
    },
    r"/resorts/(\d+)/seasons/{s}/day/(\d+)/skiers": lambda season, *day: {
        "numSkiers": len(season.by_day()[day].skiers)
    },
    r"/resorts/(\d+)/seasons/{s}/days/(\d+)/lifts/(\d+)": lambda season, resort, day, lift: {
        "rides": season.by_day()[resort, day].lifts[lift]
    },
    r"/resorts/seasons/{s}/days/(\d+)/rides": lambda season, day: {
        "missing": [],
        "lifts": [
            {"liftID": lift, "rides": rides}
            for lift, rides in Counter(ride.lift for ride in season.rides if ride.day == day).items()
        ],
    },
    r"/skiers/seasons/{s}/skiers/(\d+)": lambda season, skier: {"days": _days(season, skier)},
    r"/skiers/(\d+)/vertical": _total,
    r"/skiers/(\d+)/seasons/{s}/days/(\d+)/skiers/(\d+)": _vertical,
    r"/skiers/seasons/{s}/days/(\d+)/skiers/(\d+)": lambda season, *of: {"rides": _rides(season, *of)},
}


def findings_of(rides: list[Ride]) -> Findings:
    queries = SkiQueries(Stage(rides), SEASON_OF, patience=0)  # type: ignore[arg-type]
    queries.run_counts()
    return queries.run_histories()


def test_a_stage_that_stores_every_ride_passes() -> None:
    findings = findings_of(list(SEASON_OF.rides))

    assert (findings.kept, findings.wrong, findings.stored) == (True, [], 400)
    assert len(findings.asked) == 10


def test_a_lost_ride_is_found() -> None:
    findings = findings_of(list(SEASON_OF.rides)[1:])

    assert (findings.kept, findings.lost, findings.unexpected) == (False, 1, 0)
    for question in ("rides per hour", "rides at all resorts"):
        assert any(question in wrong for wrong in findings.wrong)


def test_a_ride_that_is_counted_twice_is_found() -> None:
    findings = findings_of([*SEASON_OF.rides, SEASON_OF.rides[5]])

    assert (findings.kept, findings.lost, findings.unexpected) == (False, 0, 1)


def test_two_rides_on_one_lift_in_one_minute_differ_by_their_id() -> None:
    twins = [ride for ride in SEASON_OF.rides if ride.ride_id]

    assert twins
    assert all(ride._replace(ride_id="") in SEASON_OF.rides for ride in twins)
