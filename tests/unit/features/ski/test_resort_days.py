"""The counts of a resort's day: when the table is read, and the answers without a cache."""

from __future__ import annotations

from unittest.mock import patch

import pytest

from headrace.core.errors import StoreUnavailable
from headrace.core.stream import TIME_SHARDS
from headrace.features.ski import routes
from headrace.features.ski.day_counts import FILLED, CountedRide
from headrace.features.ski.resort_days import LAG, LIFETIME, PATIENCE, ResortDays
from headrace.features.ski.stream import ResortDay
from tests.worlds.ski_world import RIDES, SkiWorld, ride

DAY = ResortDay(7, 2025, 45)
PLACE = {"resortID": 7, "seasonID": 2025, "dayID": 45}
SHARDS = TIME_SHARDS.read


def skiers(world: SkiWorld) -> int:
    status, body = world.request(routes.unique_skiers, **PLACE)
    assert status == 200, body
    return int(body["numSkiers"])


def stored(world: SkiWorld, *numbers: int) -> None:
    world.post(*(ride(skierID=number) for number in numbers))
    world.deliver(*world.accepted())


def confirmed() -> SkiWorld:
    world = SkiWorld()
    stored(world, 1, 2, 3)
    assert skiers(world) == 3
    world.clock.advance(LAG / 1000)
    assert skiers(world) == 3
    return world


def test_counts_expire_with_the_first_of_their_rides() -> None:
    world = confirmed()
    row = world.store.rows(RIDES.table)[0]
    world.clock.advance(row["expiresAt"] - world.clock.now() / 1_000_000 - LIFETIME / 2000)
    world.counts.clear()
    assert skiers(world) == 3

    world.clock.advance(LIFETIME / 2000)

    assert skiers(world) == 0


def test_an_abandoned_fill_is_repeated_by_the_next_query() -> None:
    world = SkiWorld()
    stored(world, 1)
    with patch.object(world.index, "read", side_effect=StoreUnavailable("down")):
        assert world.request(routes.unique_skiers, **PLACE)[0] == 503
    assert skiers(world) == 1  # counted from the table: the other fill may be in progress
    world.clock.advance(PATIENCE / 1000)
    assert skiers(world) == 1
    reads = world.index.reads

    assert skiers(world) == 1
    assert world.index.reads == reads


@pytest.mark.parametrize("moment", ["before", "while", "after"])
def test_an_answer_is_complete_when_the_cache_is_emptied_during_a_fill(moment: str) -> None:
    world = SkiWorld()
    stored(world, 1, 2)
    read = world.index.read

    def emptied(query):  # type: ignore[no-untyped-def]
        if moment == "before":
            world.counts.clear()
        found = read(query)
        if moment == "while":
            world.counts.clear()
        return found

    world.index.read = emptied  # type: ignore[method-assign]
    assert skiers(world) == 2
    if moment == "after":
        world.counts.clear()

    stored(world, 3)
    assert skiers(world) == 3


def test_a_ride_stored_between_the_reading_and_the_filling_is_counted() -> None:
    world = SkiWorld()
    stored(world, 1)
    read = world.index.read

    def interrupted(query):  # type: ignore[no-untyped-def]
        found = read(query)
        world.index.read = read  # type: ignore[method-assign]
        stored(world, 2)
        return found

    world.index.read = interrupted  # type: ignore[method-assign]

    assert skiers(world) == 2


def test_a_query_waits_for_another_one_that_fills_the_counts() -> None:
    world = SkiWorld()
    stored(world, 1, 2)
    now = world.clock.now() // 1000
    world.counts.begin(DAY, "another", now, 0, PATIENCE, now + LIFETIME)
    waits: list[float] = []

    def fill(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 3:
            world.counts.add([(DAY, [CountedRide(b"1", "1", 21, 0), CountedRide(b"2", "2", 21, 0)])], "another", now)
            world.counts.settle(DAY, "another", FILLED, now + LIFETIME)

    days = ResortDays(world.index, RIDES.table, world.resorts, world.counts, world.clock, fill)

    assert days.counts(DAY).skiers == 2
    assert (len(waits), world.index.reads) == (3, 0)
