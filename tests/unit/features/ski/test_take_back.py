"""P3: a ride that is taken back is in no answer, whenever it comes and however often it is sent."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.core import times
from headrace.core.errors import PoisonRecord
from headrace.core.sender import SenderContext
from headrace.features.ski import routes, skiers
from headrace.features.ski.accepting import TAKEN_BACK_RIDES
from headrace.features.ski.stream import SKI
from tests.worlds.ski_world import RIDES, TAKE_BACK, SkiWorld, ride

DAY = {"resortID": 7, "seasonID": 2025, "dayID": 45}
SENDER = SenderContext("gate", "gate", True, 10**15)


def taken_back(world: SkiWorld, *rides: dict[str, Any], subject: str = "gate") -> list[bytes]:
    assert world.send({"events": rides}, TAKE_BACK, subject=subject)[0] == 202
    return world.accepted()


def bodies(world: SkiWorld) -> list[bytes]:
    """Two rides of one skier, one of another, and what takes back the first."""
    found = []
    for each in (ride(rideID="a"), ride(rideID="b"), ride(rideID="c", skierID=1002)):
        world.post(each)
        found += world.accepted()
    return found + taken_back(world, ride(rideID="a"))


def test_the_rows_of_one_ride_may_be_on_two_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(skiers, "PAGE", 1)
    world = SkiWorld()
    world.deliver(*bodies(world))

    found = world.request(skiers.lifts, seasonID=2025, dayID=45, skierID=1001)[1]
    assert [each["rideID"] for each in found["rides"]] == ["b"]


def test_a_ride_without_an_id_is_taken_back_as_it_was_sent() -> None:
    world = SkiWorld()
    world.post(ride())
    world.deliver(*world.accepted())

    world.deliver(*taken_back(world, ride(waitTime=3, time="217")))

    assert world.request(routes.lift_rides, **DAY, liftID=21)[1]["rides"] == 0


def test_wrong_fields_and_unknown_seasons_are_refused_by_name() -> None:
    status, body = SkiWorld().send({"events": [ride(liftID=0), ride(seasonID=2031), ride()]}, TAKE_BACK)

    errors = [each.get("error") for each in body["results"]]
    assert (status, [error and error["details"][0]["field"] for error in errors]) == (202, ["liftID", "seasonID", None])


def test_what_takes_a_ride_back_is_kept_until_the_ride_would_have_expired_if_sent_again() -> None:
    event = TAKEN_BACK_RIDES.accept(ride(), SENDER).event
    sent_again = SKI.item(SKI.accept(ride(), SENDER).event, 29 * times.DAY, RIDES)

    assert sent_again["expiresAt"] <= SKI.item(event, 0, RIDES)["expiresAt"]
    assert sent_again["resortDayId"] == SKI.item(event, 0, RIDES)["resortDayId"]


def test_what_takes_a_ride_back_never_becomes_a_ride() -> None:
    """A version that knows no taking back refuses it, since it has no sender."""
    event = TAKEN_BACK_RIDES.accept(ride(), SENDER).event

    assert "sender" not in event
    with pytest.raises(PoisonRecord):
        SKI.item({**event, "takenBackBy": "an unknown sender"}, 0, RIDES)
