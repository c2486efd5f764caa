"""Lift rides on a whole stage are stored and counted, until they are taken back."""

from __future__ import annotations

import random
from typing import Any

import pytest

from tests.e2e.clients import Client, until
from tests.e2e.conftest import RunningStage

WRITER, READER = "events:write", "analytics:read"
SEASON = 2025


@pytest.fixture(scope="module")
def skier(platform: RunningStage) -> Client:
    return Client(platform, None, WRITER, READER)


@pytest.fixture(scope="module")
def resort(skier: Client) -> int:
    """A resort that no other run uses, with one season."""
    number = random.randrange(1_000_000, 999_999_999)
    for _ in range(2):
        status, body, _ = skier.http("POST", f"/resorts/{number}/seasons", {"year": str(SEASON)})
        assert (status, body) == (201, {"resortID": number, "seasonID": str(SEASON)})
    return number


def ride(resort: int, **fields: Any) -> dict[str, Any]:
    return {"resortID": resort, "seasonID": SEASON, "dayID": 1, "skierID": 1, "time": 217, "liftID": 21, **fields}


def get(client: Client, path: str, **query: str) -> Any:
    status, body, _ = client.http("GET", path, **query)
    assert status == 200, body
    return body


def test_rides_that_are_taken_back_are_in_no_answer_before_or_after_they_are_sent(skier: Client, resort: int) -> None:
    me = random.randrange(1, 10**12)
    rides = [ride(resort, dayID=3, skierID=me + number % 2, time=number) for number in range(5)]
    day = f"/resorts/{resort}/seasons/{SEASON}/days/3"

    def send(path: str, *events: dict[str, Any]) -> None:
        status, body, _ = skier.http("POST", path, {"events": events})
        assert (status, {each.get("lane") for each in body["results"]}) == (202, {"main"}), body

    def rides_of_first_hour(number: int) -> None:
        until(lambda: get(skier, f"{day}/hours")["hours"][0]["rides"], lambda found: found == number)

    send("/lift-rides/take-back", rides[4])
    send("/lift-rides/batch", *rides)
    rides_of_first_hour(4)
    assert get(skier, f"{day}/skiers")["numSkiers"] == 2
    send("/lift-rides/take-back", rides[1], rides[3])
    rides_of_first_hour(2)
    send("/lift-rides/batch", *rides, ride(resort, dayID=3, skierID=me, time=61))
    until(lambda: get(skier, f"{day}/hours")["hours"][1]["rides"], lambda found: found == 1)

    rides_of_first_hour(2)
    assert get(skier, f"{day}/skiers")["numSkiers"] == 1
    assert get(skier, f"{day}/lifts/21")["rides"] == 3
    assert get(skier, f"/skiers/seasons/{SEASON}/skiers/{me + 1}")["daysSkied"] == 0
    assert [each["time"] for each in get(skier, f"/skiers/seasons/{SEASON}/days/3/skiers/{me}")["rides"]] == [0, 2, 61]
