"""Rows of several partitions are read in order, each once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from headrace.storage.merged_reader import MergedReader
from headrace.storage.reading import RangeQuery, Rows
from tests.fakes.storage import MemoryReader

NUMBERS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 40)), unique_by=lambda pair: pair[1], max_size=30)
QUERY = RangeQuery("Things", "shard", "thing", "sk", index="Index")


def reader(found: list[tuple[int, int]], expired: set[int]) -> MergedReader:
    rows: list[dict[str, Any]] = [
        {"shard": f"thing#{shard}", "sk": f"{number:03d}", "id": "x", **({"expiresAt": 5} if number in expired else {})}
        for shard, number in found
    ]
    parts = ["thing#0", "thing#1", "thing#2"]
    return MergedReader(
        MemoryReader(lambda _: rows, ("id", "sk")), lambda _: parts, lambda place: {"sk": place, "id": "x"}
    )


def walk(reader: MergedReader, query: RangeQuery) -> Iterator[Rows]:
    while True:
        rows = reader.read(query)
        yield rows
        if rows.more is None:
            return
        query = replace(query, start=rows.more)


@given(NUMBERS, st.integers(1, 7), st.booleans(), st.sets(st.integers(0, 40)))
def test_a_walk_visits_every_row_once_in_order_with_short_reads(
    found: list[tuple[int, int]], limit: int, newest_first: bool, expired: set[int]
) -> None:
    query = replace(QUERY, limit=limit, newest_first=newest_first, unexpired_at=10)

    pages = list(walk(reader(found, expired), query))

    read = [row["sk"] for page in pages for row in page.items]
    there = sorted((f"{number:03d}" for _, number in found if number not in expired), reverse=newest_first)
    assert read == there
    assert all(len(page.items) <= limit for page in pages)


@given(NUMBERS, st.integers(0, 40), st.integers(0, 40))
def test_bounds_and_a_place_between_rows_hold_for_every_partition(
    found: list[tuple[int, int]], lower: int, place: int
) -> None:
    query = replace(
        QUERY, limit=50, newest_first=False, lower=f"{lower:03d}", start={"sk": f"{max(place, lower):03d}+"}
    )

    (page,) = walk(reader(found, set()), query)

    assert [row["sk"] for row in page.items] == sorted(f"{n:03d}" for _, n in found if n > max(place, lower))


def test_several_ranges_are_read_together_and_returned_separately() -> None:
    both = [replace(QUERY, limit=9, lower="000", upper="002"), replace(QUERY, limit=9, lower="002", upper="009")]

    first, second = reader([(0, 0), (1, 1), (2, 3)], set()).read_many(both)

    assert [row["sk"] for row in first.items] == ["001", "000"]
    assert [row["sk"] for row in second.items] == ["003"]
