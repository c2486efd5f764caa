"""One suite for every store of day counts: in memory, and on a real cluster node."""

from __future__ import annotations

import random
import time

import pytest

from headrace.features.ski.day_counts import CONFIRMED, FILLED, FILLING, CountedRide, Counts, Coverage
from headrace.features.ski.redis import DayCounts
from headrace.features.ski.stream import ResortDay
from headrace.storage.redis import Cache, connect
from tests.contract.redis_node import RedisNode
from tests.fakes.ski import MemoryDayCounts

DAY, OTHER = ResortDay(7, 2025, 45), ResortDay(8, 2025, 45)
NOW = int(time.time() * 1000)
LATER = NOW + 3_600_000
PATIENCE = 5000


@pytest.fixture(params=["memory", "redis"])
def counts(request: pytest.FixtureRequest) -> DayCounts:
    if request.param == "memory":
        return MemoryDayCounts()
    node: RedisNode = request.getfixturevalue("redis_node")
    node.start()
    connect(node.settings, 1.0).flushall()
    return DayCounts(Cache.of(node.settings))


def a_ride(number: int, skier: int = 1, lift: int = 5, minute: int = 61) -> CountedRide:
    return CountedRide(number.to_bytes(12, "big"), str(skier), lift, minute)


def begun(counts: DayCounts, generation: str = "one", now: int = NOW) -> DayCounts:
    assert counts.begin(DAY, generation, now, 0, PATIENCE, LATER)
    return counts


def test_rides_of_a_day_without_counts_are_not_added(counts: DayCounts) -> None:
    assert not counts.add([(DAY, [a_ride(1)])])
    assert counts.read(DAY) is None


def test_rides_join_once_and_are_counted_by_skier_lift_and_hour(counts: DayCounts) -> None:
    begun(counts)
    rides = [a_ride(1), a_ride(2, skier=2, lift=6), a_ride(3, minute=1439), a_ride(1)]

    assert counts.add([(DAY, rides)])
    assert counts.add([(DAY, rides[:2]), (DAY, rides[2:])], "one")

    hours = [0] * 24
    hours[1], hours[23] = 2, 1
    assert counts.read(DAY, [5, 6, 7]) == (Coverage("one", NOW, FILLING), Counts(2, {5: 2, 6: 1, 7: 0}, hours))


def test_ids_of_rides_may_be_any_bytes(counts: DayCounts) -> None:
    begun(counts)
    random.seed(5)
    rides = [CountedRide(random.randbytes(12), str(number), 1, 0) for number in range(1200)]

    assert counts.add([(DAY, rides)])

    found = counts.read(DAY)
    assert found is not None
    assert found[1].skiers == found[1].hours[0] == 1200


def test_a_skier_with_a_pseudonym_counts_as_one_with_a_number(counts: DayCounts) -> None:
    """P15: an erased skier's."""
    begun(counts)
    rides = [a_ride(1, skier=7), a_ride(2, lift=6, minute=120), a_ride(3, minute=0)]

    assert counts.add([(DAY, [rides[0], *(ride._replace(skier="erased-abc7") for ride in rides[1:])])])

    hours = [1, 1, 1] + [0] * 21
    assert counts.read(DAY, [5, 6]) == (Coverage("one", NOW, FILLING), Counts(2, {5: 2, 6: 1}, hours))


def test_rides_count_only_for_the_days_that_have_counts(counts: DayCounts) -> None:
    begun(counts)

    assert not counts.add([(DAY, [a_ride(1)]), (OTHER, [a_ride(2)])])

    found = counts.read(DAY)
    assert found is not None
    assert found[1].skiers == 1
    assert counts.read(OTHER) is None


def test_counts_of_an_older_generation_are_not_stored(counts: DayCounts) -> None:
    begun(counts)
    counts.settle(DAY, "one", FILLED, LATER)
    assert counts.begin(DAY, "two", NOW + 10, NOW, PATIENCE, LATER)

    assert not counts.add([(DAY, [a_ride(1)])], "one")
    counts.settle(DAY, "one", CONFIRMED, LATER)

    assert counts.read(DAY) == (Coverage("two", NOW + 10, FILLING), Counts(0, {}, [0] * 24))


@pytest.mark.parametrize(
    ("stage", "now", "after", "begins"),
    [
        (FILLED, NOW + PATIENCE, NOW - 1, False),
        (FILLED, NOW + 1, NOW, True),
        (FILLING, NOW + PATIENCE - 1, NOW - 1, False),
        (FILLING, NOW + PATIENCE, NOW - 1, True),
    ],
    ids=["filled", "invalid", "filling", "abandoned"],  # times differ between the processes of pytest-xdist
)
def test_counts_are_started_again_only_if_they_are_invalid_or_abandoned(
    counts: DayCounts, stage: str, now: int, after: int, begins: bool
) -> None:
    begun(counts)
    counts.add([(DAY, [a_ride(1)])])
    if stage != FILLING:
        counts.settle(DAY, "one", stage, LATER)

    assert counts.begin(DAY, "two", now, after, PATIENCE, LATER) == begins

    found = counts.read(DAY)
    assert found is not None
    assert found[0] == (Coverage("two", now, FILLING) if begins else Coverage("one", NOW, stage))
    assert found[1].skiers == (0 if begins else 1)


def test_counts_expire_at_the_earliest_end_that_was_set(counts: DayCounts) -> None:
    begun(counts, now=NOW)
    counts.settle(DAY, "one", FILLED, LATER + 5000)
    assert counts.read(DAY) is not None

    counts.settle(DAY, "one", FILLED, int(time.time() * 1000) + 50)
    time.sleep(0.1)

    assert counts.read(DAY) is None


def test_an_active_fill_excludes_other_readers(counts: DayCounts) -> None:
    begun(counts)
    counts.add([(DAY, [a_ride(1)])], "one", NOW + PATIENCE - 1)
    assert not counts.begin(DAY, "two", NOW + PATIENCE, NOW - 1, PATIENCE, LATER)


def test_rides_that_are_taken_back_do_not_count_in_any_order(counts: DayCounts) -> None:
    of = random.Random(7)
    for generation in range(30):
        assert counts.begin(DAY, str(generation), NOW + generation, NOW + generation - 1, PATIENCE, LATER)
        rides = [a_ride(number, of.randint(1, 4), of.randint(1, 3), of.randint(0, 120)) for number in range(20)]
        sent = rides + [ride._replace(taken_back=True) for ride in rides if of.random() < 0.4]
        sent += of.choices(sent, k=10)
        of.shuffle(sent)
        cut = of.randint(0, len(sent))

        assert counts.add([(DAY, sent[:cut])])
        assert counts.add([(DAY, sent[cut:])])

        gone = {ride.mark for ride in sent if ride.taken_back}
        expected = Counts.of(ride for ride in rides if ride.mark not in gone)
        assert Counts.of(sent) == expected
        found = counts.read(DAY, [1, 2, 3])
        assert found is not None
        assert found[1].skiers == expected.skiers
        assert found[1].hours == expected.hours
        assert found[1].lifts == {lift: expected.lifts.get(lift, 0) for lift in (1, 2, 3)}
