"""P9: windows that begin or end within a minute read only what may be new, and say as of when they are."""

from __future__ import annotations

from typing import Any

from headrace.core import times
from headrace.features.analytics import windows
from headrace.features.analytics.time_slots import Span
from headrace.storage.reading import Query
from tests.worlds.slot_world import NOW, reads, total, watched, world_with

OPEN_QUERY = {"from": times.iso(NOW - 21_500_000), "to": times.iso(NOW + times.HOUR)}
"""A window that begins and ends in minutes with messages."""


def span(query: Query) -> Span:
    """The times of a query in seconds after ``NOW``."""
    start, end = ((times.micros_of(str(each)) - NOW) // times.SECOND for each in (query.lower, query.upper))
    return Span(start, end)


def test_a_repeated_question_about_the_open_minute_reads_nothing_and_says_as_of_when_it_is() -> None:
    world = world_with(NOW + times.SECOND)
    reader = world.reader()
    first = world.query(reader, "window", OPEN_QUERY)
    world.put(world.row(world.clock.now(), message_id="new"))
    world.clock.advance(windows.TAIL_SECONDS)
    again: list[dict[str, Any]] = []

    assert reads(world, lambda: again.append(world.query(reader, "window", OPEN_QUERY))) == 0
    assert again == [first]

    world.clock.advance(0.001)
    assert total(world, OPEN_QUERY, reader) == 2


def test_the_next_question_about_the_open_minute_reads_only_what_may_be_new() -> None:
    """Also in another environment, which lacks only the ten seconds that the window cuts."""
    world = world_with()
    world.clock.advance(35)  # NOW + 60 s
    reader, other = world.reader(), world.reader()
    total(world, OPEN_QUERY, reader)
    world.clock.advance(5)
    seen = watched(world)

    total(world, OPEN_QUERY, reader)
    assert {span(query) for query in seen} == {Span(40, 50), Span(50, 3600)}
    seen.clear()
    total(world, OPEN_QUERY, other)
    assert {span(query) for query in seen} == {Span(-22, -20), Span(50, 3600)}
