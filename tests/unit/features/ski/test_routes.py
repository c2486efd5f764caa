"""The answers of read_ski: their shapes, who may ask, and the errors of invalid queries."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.features.ski import routes, skiers
from tests.worlds.functions import app
from tests.worlds.requests import Context
from tests.worlds.ski_world import SkiWorld, ride
from tests.worlds.stream_world import WRITER

DAY = {"resortID": "7", "seasonID": "2025", "dayID": "45"}


@pytest.fixture
def world() -> SkiWorld:
    made = SkiWorld()
    for fields in ({"time": 10, "liftID": 5}, {"time": 70, "liftID": 2}, {"time": 75, "liftID": 5}):
        made.post(ride(**fields))
    made.post(ride(resortID=8, dayID=46, liftID=100))
    made.deliver(*made.accepted())
    return made


def test_both_spellings_of_the_skiers_of_a_day_are_one_route() -> None:
    """The papers write ``days``, and the public SkiDataAPI ``day``."""
    found = app("read_ski").ROUTES
    paths = [f"GET /resorts/{{resortID}}/seasons/{{seasonID}}/{name}/{{dayID}}/skiers" for name in ("day", "days")]

    assert found[paths[0]] is found[paths[1]]


class Ending(Context):
    """A context whose time is nearly over after one look at it."""

    def get_remaining_time_in_millis(self) -> int:
        left, self._seconds = self._seconds, routes.SECONDS_OF_A_RESORT
        return round(left * 1000)


def test_an_answer_about_all_resorts_names_those_that_it_had_no_time_for(world: SkiWorld) -> None:
    world.context = Ending(25)

    body = world.request(routes.all_rides, seasonID=2025, dayID=45)[1]

    assert (body["resorts"], body["missing"], sum(each["rides"] for each in body["lifts"])) == (1, [8], 3)


def test_added_resorts_and_seasons_are_listed_once(world: SkiWorld) -> None:
    for _ in range(2):
        body = {"year": "2027", "resortName": "Mission Ridge"}
        assert world.request(routes.add_season, body=body, scope=WRITER, resortID=12)[0] == 201

    assert world.request(routes.seasons, resortID=12) == (200, {"seasons": ["2027"]})
    assert world.request(routes.resorts)[1]["resorts"] == [
        {"resortID": 7, "resortName": "Resort 7"},
        {"resortID": 8, "resortName": "Resort 8"},
        {"resortID": 12, "resortName": "Mission Ridge"},
    ]


@pytest.mark.parametrize(
    ("route", "path", "query"),
    [
        (skiers.day_vertical, {**DAY, "seasonID": "2031", "skierID": "1"}, None),
        (routes.unique_skiers, {**DAY, "seasonID": "2031"}, None),
        (routes.hours, {**DAY, "resortID": "9"}, None),
        (skiers.days, {"seasonID": "2031", "skierID": "1"}, None),
        (skiers.lifts, {"seasonID": "2031", "dayID": "1", "skierID": "1"}, None),
        (routes.all_rides, {"seasonID": "2031", "dayID": "1"}, None),
        (skiers.totals, {"skierID": "1"}, {"resort": "7,8", "season": "2031"}),
        (skiers.totals, {"skierID": "1"}, {"resort": "7,8", "season": "2025,2031"}),
    ],
)
def test_an_unknown_season_is_a_404_that_names_it(
    world: SkiWorld, route: Any, path: dict[str, str], query: dict[str, str] | None
) -> None:
    status, body = world.request(route, query, **path)

    assert (status, body["error"]["code"]) == (404, "not_found")
    assert body["error"]["details"][0]["field"] == ("season" if route is skiers.totals else "seasonID")
    assert "adds one" in body["error"]["details"][0]["allowed"]


def test_a_season_that_one_of_several_resorts_lacks_counts_at_the_others(world: SkiWorld) -> None:
    world.resorts.add_season(9, 2024)
    asked = {"resort": "7,8,9", "season": "2025"}

    status, body = world.request(skiers.totals, asked, skierID=1001)

    assert status == 200
    assert {each["seasonID"] for each in body["resorts"]} == {"2025"}
    assert body == world.request(skiers.totals, {**asked, "season": "2024,2025"}, skierID=1001)[1]


def test_an_unknown_resort_is_a_404(world: SkiWorld) -> None:
    status, body = world.request(routes.seasons, resortID=99)

    assert (status, body["error"]["details"][0]["field"]) == (404, "resortID")


@pytest.mark.parametrize(
    ("query", "fields"),
    [
        (None, ["resort"]),
        ({"resort": "7,x"}, ["resort"]),
        ({"resort": "7,x,0"}, ["resort", "resort"]),
        ({"resort": ""}, ["resort"]),
        ({"resort": ",".join(["7"] * 51)}, ["resort"]),
        ({"resort": "7", "season": "x", "Season": "2025"}, ["Season", "season"]),
        ({"resort": "7", "season": "2025,x,1"}, ["season", "season"]),
        ({"resort": "7", "season": ",".join(["2025"] * 51)}, ["season"]),
    ],
)
def test_an_invalid_query_names_its_parameters(
    world: SkiWorld, query: dict[str, str] | None, fields: list[str]
) -> None:
    status, body = world.request(skiers.totals, query, skierID=1)

    assert (status, [detail["field"] for detail in body["error"]["details"]]) == (400, fields)
