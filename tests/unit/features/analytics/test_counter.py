"""Counts are exact up to a limit and state their error beyond it, and aggregates are unpacked as they were packed."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.features.analytics.aggregate import LAYOUT, Aggregate, UnknownLayout, check, decode, encode
from headrace.features.analytics.counter import STANDARD_ERROR, HyperLogLog, IdCounter

IDS = st.text(st.characters(exclude_categories=["Cc", "Cs"], exclude_characters="#"), min_size=1, max_size=8)
COUNTS = st.dictionaries(IDS, st.integers(1, 2**40), max_size=30)
SMALL = st.dictionaries(st.sampled_from([f"u{number}" for number in range(40)]), st.integers(1, 9), max_size=40)


@given(st.lists(COUNTS, max_size=5))
def test_merged_counters_equal_one_counter_of_all_events(parts: list[dict[str, int]]) -> None:
    whole, expected = IdCounter(), Counter[str]()
    for part in parts:
        whole.merge(IdCounter(dict(part)))
        expected.update(part)

    assert not whole.error
    assert whole.unique() == len(expected)
    assert whole.top(7) == sorted(expected.items(), key=lambda pair: (-pair[1], pair[0]))[:7]


@given(st.lists(SMALL, max_size=8), st.integers(2, 12))
def test_a_counter_beyond_its_limit_states_its_largest_error(parts: list[dict[str, int]], limit: int) -> None:
    whole, expected = IdCounter(limit=limit), Counter[str]()
    for part in parts:
        whole.merge(IdCounter(dict(part), limit=limit))
        expected.update(part)

    assert len(whole.counts) <= limit
    for key, count in expected.items():
        assert whole.counts.get(key, 0) <= count <= whole.counts.get(key, 0) + whole.error
    assert (whole.error == 0) == (whole.counts == expected)
    assert abs(whole.unique() - len(expected)) <= max(2, len(expected) * 0.2) or whole.distinct is None


def test_the_estimate_of_distinct_texts_is_within_its_error() -> None:
    """In any order, and also when merged."""
    one, other, both = HyperLogLog(), HyperLogLog(), HyperLogLog()
    one.add(f"user-{number}" for number in range(150_000))
    other.add(f"user-{number}" for number in range(100_000, 250_000))
    both.add(f"user-{number}" for number in reversed(range(250_000)))
    one.merge(other)

    assert one.registers == both.registers
    assert both.estimate() == pytest.approx(250_000, rel=4 * STANDARD_ERROR)


AGGREGATES = st.builds(
    lambda users, rooms, total, expires, points: Aggregate(
        (IdCounter(users), IdCounter(rooms)),
        total,
        "2025-11-21T10:00:58.722861Z",
        "2025-11-21T10:59:58.722861Z",
        expires,
        {60: points, 3600: {}},
    ),
    COUNTS,
    COUNTS,
    st.integers(1, 2**50),
    st.integers(0, 2**40),
    st.dictionaries(st.integers(0, 2**33), st.tuples(st.integers(1, 2**40), st.integers(1, 2**30)), max_size=20),
)


def parts_of(aggregate: Aggregate) -> Any:
    tallies = [(tally.counts, tally.error, tally.unique()) for tally in aggregate.tallies]
    return tallies, aggregate.total, aggregate.first, aggregate.last, aggregate.expires, aggregate.points


@given(AGGREGATES)
def test_an_aggregate_is_unpacked_as_it_was_packed(aggregate: Aggregate) -> None:
    packed = encode(aggregate, 8)

    assert check(packed, 2, 8) == aggregate.expires
    assert parts_of(decode(packed)) == parts_of(aggregate)


def test_an_approximate_aggregate_stays_approximate() -> None:
    tally = IdCounter({f"u{number}": number + 1 for number in range(9)}, limit=5)

    (found,) = decode(encode(Aggregate((tally,), 45, "a" * 27, "b" * 27), 8)).tallies

    assert (found.counts, found.error, found.unique()) == (tally.counts, tally.error, tally.unique())


def test_an_aggregate_that_does_not_fit_counts_as_missing() -> None:
    """It has another layout or fewer shards, or is truncated."""
    packed = encode(Aggregate((IdCounter({"a": 3}), IdCounter({"r": 3})), 3, "a" * 27, "b" * 27), 8)

    assert [check(packed, 2, shards) for shards in (8, 4)] == [0, 0]
    wrong = [(bytes([LAYOUT + 1]) + packed[1:], 2, 8), (packed, 3, 8), (packed, 2, 9), (b"", 2, 8), (b"junk" * 9, 2, 8)]
    wrong += [(packed[:length], 2, 8) for length in range(len(packed))]
    for data, tallies, shards in wrong:
        with pytest.raises(UnknownLayout):
            check(data, tallies, shards)


@given(st.integers(0, 1000), st.integers(1, 255))
def test_a_damaged_aggregate_counts_as_missing(place: int, change: int) -> None:
    users = {f"user-{number}": number + 1 for number in range(20)}
    packed = bytearray(encode(Aggregate((IdCounter(users), IdCounter({"r": 3})), 3, "a" * 27, "b" * 27), 8))
    packed[place % len(packed)] ^= change

    with pytest.raises(UnknownLayout):
        check(bytes(packed), 2, 8)
