"""How a resort's day is counted: when the table is read, and what a missing cache does."""

from __future__ import annotations

import pytest

from headrace.core.errors import StoreUnavailable
from headrace.streams.ski import routes
from headrace.streams.ski.day_counts import FILLED, CountedRide
from headrace.streams.ski.hook import INVALID_FOR
from headrace.streams.ski.keys import ResortDay
from headrace.streams.ski.resort_days import LAG, LIFETIME, PATIENCE, ResortDays
from headrace.streams.ski.stream import RESORT_DAY_SHARDS
from tests.worlds.ski_world import RIDES, Slopes, ride

DAY = ResortDay(7, 2025, 45)
PLACE = {"resortID": 7, "seasonID": 2025, "dayID": 45}
SHARDS = RESORT_DAY_SHARDS.read


def skiers(slopes: Slopes) -> int:
    status, body = slopes.ask(routes.unique_skiers, **PLACE)
    assert status == 200, body
    return int(body["numSkiers"])


def stored(slopes: Slopes, *numbers: int) -> None:
    slopes.post(*(ride(skierID=number) for number in numbers))
    slopes.deliver(*slopes.accepted())


def confirmed() -> Slopes:
    slopes = Slopes()
    stored(slopes, 1, 2, 3)
    assert skiers(slopes) == 3
    slopes.clock.advance(LAG / 1000)
    assert skiers(slopes) == 3
    return slopes


def test_a_day_is_read_twice_however_often_it_is_asked_for_while_rides_come_in() -> None:
    slopes = Slopes()
    stored(slopes, 1, 2)
    for number in range(100, 140):
        stored(slopes, number)
        assert skiers(slopes) == number - 100 + 3
        slopes.clock.advance(1)

    assert slopes.reader.index_reads == 2 * SHARDS


def test_a_ride_that_the_index_did_not_show_yet_is_counted_when_it_does() -> None:
    slopes = Slopes()
    slopes.reader.lag = 3
    stored(slopes, 1)
    assert skiers(slopes) == 0

    slopes.clock.advance(LAG / 1000)

    assert skiers(slopes) == 1


def test_a_ride_counts_once_however_often_it_is_told() -> None:
    """Fault 14: counters that are incremented on redelivery."""
    slopes = confirmed()
    slopes.post(ride(skierID=3), ride(skierID=4))
    bodies = slopes.accepted()

    for _ in range(3):
        slopes.deliver(*bodies)

    assert skiers(slopes) == 4
    assert slopes.ask(routes.lift_rides, **PLACE, liftID=21)[1] == {"liftID": 21, "rides": 4}


def test_without_a_cache_every_answer_comes_from_the_table() -> None:
    """P10."""
    slopes = confirmed()
    slopes.counts.down = True
    stored(slopes, 4)

    assert skiers(slopes) == 4
    assert not slopes.retry.records


def test_rides_that_the_cache_was_not_told_of_are_in_the_answer_once_it_is_back() -> None:
    slopes = confirmed()
    slopes.counts.down = True
    stored(slopes, 4)
    slopes.counts.down = False

    assert skiers(slopes) == 4

    slopes.clock.advance(INVALID_FOR / 1000)
    assert skiers(slopes) == 4


def test_an_absent_cache_costs_one_small_write_per_resort_and_two_seconds() -> None:
    slopes = confirmed()
    slopes.counts.down = True
    before = slopes.resorts.calls
    for number in range(20):
        stored(slopes, 100 + number)
        slopes.clock.advance(0.1)

    assert slopes.resorts.calls - before == 1


def test_a_ride_is_retried_only_if_its_counts_cannot_be_invalidated() -> None:
    slopes = confirmed()
    slopes.counts.down = True
    slopes.resorts.failure = StoreUnavailable("away")
    slopes.post(ride(skierID=4))
    slopes.deliver(*slopes.accepted())
    assert len(slopes.retry.records) == 1
    assert len(slopes.store.rows(RIDES.table)) == 4

    slopes.resorts.failure = None
    slopes.counts.down = False

    assert slopes.retry_all()
    assert skiers(slopes) == 4


def test_counts_are_gone_when_the_first_of_their_rides_expires() -> None:
    slopes = confirmed()
    row = slopes.store.rows(RIDES.table)[0]
    slopes.clock.advance(row["expiresAt"] - slopes.clock.now() / 1_000_000 - LIFETIME / 2000)
    slopes.counts.clear()
    assert skiers(slopes) == 3

    slopes.clock.advance(LIFETIME / 2000)

    assert skiers(slopes) == 0


def test_a_fill_that_is_abandoned_is_taken_up_by_the_next_question() -> None:
    slopes = Slopes()
    stored(slopes, 1)
    slopes.reader.failure = StoreUnavailable("away")
    assert slopes.ask(routes.unique_skiers, **PLACE)[0] == 503
    slopes.reader.failure = None
    assert skiers(slopes) == 1  # counted from the table: the other one may still be at it
    slopes.clock.advance(PATIENCE / 1000)
    assert skiers(slopes) == 1
    reads = slopes.reader.index_reads

    assert skiers(slopes) == 1
    assert slopes.reader.index_reads == reads


@pytest.mark.parametrize("moment", ["before", "while", "after"])
def test_a_cache_emptied_around_a_fill_takes_nothing_from_the_answer(moment: str) -> None:
    slopes = Slopes()
    stored(slopes, 1, 2)
    read = slopes.reader.read_many

    def emptied(queries):  # type: ignore[no-untyped-def]
        if moment == "before":
            slopes.counts.clear()
        found = read(queries)
        if moment == "while":
            slopes.counts.clear()
        return found

    slopes.reader.read_many = emptied  # type: ignore[method-assign]
    assert skiers(slopes) == 2
    if moment == "after":
        slopes.counts.clear()

    stored(slopes, 3)
    assert skiers(slopes) == 3


def test_a_ride_stored_between_the_reading_and_the_filling_is_counted() -> None:
    slopes = Slopes()
    stored(slopes, 1)
    read = slopes.reader.read_many

    def interrupted(queries):  # type: ignore[no-untyped-def]
        found = read(queries)
        slopes.reader.read_many = read  # type: ignore[method-assign]
        stored(slopes, 2)
        return found

    slopes.reader.read_many = interrupted  # type: ignore[method-assign]

    assert skiers(slopes) == 2


def test_a_question_waits_for_another_one_that_fills_the_counts() -> None:
    slopes = Slopes()
    stored(slopes, 1, 2)
    now = slopes.clock.now() // 1000
    slopes.counts.begin(DAY, "another", now, 0, PATIENCE, now + LIFETIME)
    waits: list[float] = []

    def fill(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 3:
            slopes.counts.add([(DAY, [CountedRide(b"1", "1", 21, 0), CountedRide(b"2", "2", 21, 0)])], "another", now)
            slopes.counts.settle(DAY, "another", FILLED, now + LIFETIME)

    days = ResortDays(slopes.reader, RIDES.table, slopes.resorts, slopes.counts, slopes.clock, fill)

    assert days.counts(DAY).skiers == 2
    assert (len(waits), slopes.reader.index_reads) == (3, 0)
