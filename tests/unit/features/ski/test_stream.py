"""Rides: what is accepted, what is refused, and the stored row."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.core.errors import ConfigurationError, PoisonRecord, StoreUnavailable
from headrace.core.keys import shards_of
from headrace.core.sender import SenderContext
from headrace.core.stream import TIME_SHARDS, Shards
from headrace.core.times import DAY, parse_iso
from headrace.features.ski import stream
from headrace.features.ski.stream import SKI, ResortDay, Ride
from tests.worlds.ski_world import RIDES, START, SkiWorld, ride

NOW = parse_iso(START)
GATE = SenderContext("gate", "gate", True, NOW)
NUMBERS = st.builds(
    Ride,
    st.integers(1900, 2199),
    st.integers(1, 366),
    st.integers(0, 1439),
    st.integers(1, 999_999_999),
    st.integers(1, 1000),
    st.text(st.characters(exclude_characters="#", exclude_categories=("Cc", "Cs")), min_size=1, max_size=20),
    st.just("abcdefghijkl"),
)


def test_texts_of_digits_are_accepted_as_numbers() -> None:
    texts = {name: str(value) for name, value in ride().items()}

    assert SKI.accept(texts, GATE).event == SKI.accept(ride(), GATE).event


@given(NUMBERS)
def test_a_key_contains_every_field_of_a_ride(known: Ride) -> None:
    assert stream.parse_ride_sk(stream.ride_sk(known)) == known


@given(NUMBERS, NUMBERS)
def test_keys_are_in_order_of_season_day_and_time(one: Ride, other: Ride) -> None:
    if one[:5] != other[:5]:
        assert (stream.ride_sk(one) < stream.ride_sk(other)) == (one[:5] < other[:5])


@given(NUMBERS)
def test_a_ride_lies_within_the_bounds_of_its_season_and_day_only(known: Ride) -> None:
    sk = stream.ride_sk(known)

    for bounds in (stream.season_bounds(known.season), stream.day_bounds(known.season, known.day)):
        assert bounds[0] < sk < bounds[1]
    for lower, upper in (stream.season_bounds(known.season + 1), stream.day_bounds(known.season, known.day + 1)):
        assert not lower <= sk < upper


def test_a_replayed_ride_has_the_same_shard_and_a_day_uses_all_shards() -> None:
    rows = [SKI.item(SKI.accept(ride(skierID=number), GATE).event, NOW, RIDES) for number in range(1, 400)]

    again = [SKI.item(SKI.accept(ride(skierID=number), GATE).event, NOW + DAY, RIDES) for number in range(1, 400)]
    assert [row["resortDayId"] for row in again] == [row["resortDayId"] for row in rows]
    shards = shards_of(ResortDay(7, 2025, 45).id, TIME_SHARDS.write)
    assert {row["resortDayId"] for row in rows} == set(shards)
    assert {stream.parse_resort_day(shard) for shard in shards} == {ResortDay(7, 2025, 45)}


def test_a_ride_sent_again_on_the_same_day_has_the_same_row() -> None:
    event = SKI.accept(ride(), GATE).event
    midnight = NOW // DAY * DAY

    first, last = (SKI.item(event, at, RIDES) for at in (midnight, midnight + DAY - 1))

    assert first == last
    assert first["expiresAt"] * 1_000_000 == midnight + (1 + RIDES.retention_days) * DAY


def test_rides_without_a_retention_never_expire() -> None:
    event = SKI.accept(ride(), GATE).event

    assert "expiresAt" not in SKI.item(event, NOW, replace(RIDES, retention_days=0))


@pytest.mark.parametrize(
    ("fields", "reason"),
    [({"sender": "x"}, "invalid_key"), ({"time": 1440}, "invalid_event"), ({"rideID": ""}, "empty_key")],
)
def test_a_record_that_is_no_ride_is_poison(fields: dict[str, Any], reason: str) -> None:
    with pytest.raises(PoisonRecord) as caught:
        SKI.item(SKI.accept(ride(), GATE).event | fields, NOW, RIDES)

    assert caught.value.reason == reason


def test_an_index_reads_all_shards_that_it_writes() -> None:
    with pytest.raises(ConfigurationError, match="would lack rows"):
        Shards(write=8, read=4)


def test_a_ride_of_an_unknown_season_is_a_404_with_the_known_seasons() -> None:
    world = SkiWorld()

    status, body = world.post(ride(seasonID=2026))

    assert (status, body["error"]["code"]) == (404, "not_found")
    (detail,) = body["error"]["details"]
    assert (detail["field"], detail["got"]) == ("seasonID", 2026)
    assert "2024, 2025" in detail["allowed"]
    assert not world.accepted()


def test_in_a_batch_only_the_rides_of_unknown_seasons_are_refused() -> None:
    world = SkiWorld()

    status, body = world.post(ride(), ride(seasonID=2026), ride(resortID=99), ride(resortID=8))

    assert status == 202
    assert ["error" in each for each in body["results"]] == [False, True, True, False]
    assert "none yet" in body["results"][2]["error"]["details"][0]["allowed"]


def test_an_added_season_is_known_at_once_and_read_once() -> None:
    world = SkiWorld()
    assert world.post(ride(seasonID=2026))[0] == 404
    world.resorts.add_season(7, 2026)

    assert world.post(ride(seasonID=2026))[0] == 201
    before = world.resorts.calls
    world.post(ride(seasonID=2026, time=5))

    assert world.resorts.calls == before


def test_rides_are_accepted_while_seasons_cannot_be_read() -> None:
    world = SkiWorld()
    world.resorts.failure = StoreUnavailable("down")

    assert world.post(ride(seasonID=2026))[0] == 201
    before = world.resorts.calls
    assert world.post(ride(seasonID=2026, time=5))[0] == 201
    assert world.resorts.calls == before, "the table was called again within 5 s"

    world.resorts.failure = None
    world.monotonic += 5
    assert world.post(ride(seasonID=2026))[0] == 404


def test_what_clients_of_the_ski_data_api_send_is_accepted() -> None:
    """Some of them send ``waitTime``, which is not stored."""
    assert SKI.accept(ride(waitTime=3), GATE) == SKI.accept(ride(), GATE)
