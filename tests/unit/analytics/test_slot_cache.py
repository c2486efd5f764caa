"""P9: cached slots are never stale after the settling time, and save reads of the table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from headrace.analytics import builder, generations, scanner, windows
from headrace.analytics import builder as build
from headrace.analytics.aggregate import LAYOUT
from headrace.analytics.time_slots import HOUR, MINUTE, Slot, Span
from headrace.core import keys, times
from headrace.core.errors import StoreThrottled
from tests.worlds.slot_world import SETTLE, START, SlotWorld, answer, request_of

NOW = times.micros_of(START)
HOUR_QUERY = {"from": times.iso(NOW - times.HOUR), "to": times.iso(NOW)}
DAY_QUERY = {"from": times.iso(NOW - 34 * times.HOUR), "to": times.iso(NOW - 10 * times.HOUR)}
"""A whole day, in UTC."""


def world_with(*ats: int) -> SlotWorld:
    """A world with events at these times, whose cache is older than the settling time."""
    world = SlotWorld(shards=2)
    total(world, HOUR_QUERY)
    world.clock.advance(SETTLE + 2)
    for number, at in enumerate(ats):
        world.put(world.row(at, user=f"u{number}", message_id=f"m{number}"))
    world.clock.advance(SETTLE + 3)
    return world


def total(world: SlotWorld, query: dict[str, str] = HOUR_QUERY, reader: Any = None) -> int:
    found = world.query(reader or world.reader(), "window", query)["totalMessages"]
    assert isinstance(found, int)
    return found


def reads(world: SlotWorld, call: Callable[[], object]) -> int:
    """The number of pages that were read for an answer."""
    before = world.columns.reads
    call()
    return world.columns.reads - before


@pytest.mark.parametrize("query", [HOUR_QUERY, DAY_QUERY])
def test_counted_slots_are_not_read_again_by_any_reader(query: dict[str, str]) -> None:
    world = world_with(NOW - times.MINUTE, NOW - 12 * times.HOUR)

    assert reads(world, lambda: total(world, query)) > 0

    assert reads(world, lambda: total(world, query)) == 0


def test_a_new_minute_costs_only_itself() -> None:
    """Fault 10: a cache key that contains the current time."""
    world = world_with(*(NOW - number * times.MINUTE for number in range(1, 40)))
    total(world)
    world.put(world.row(NOW + 30 * times.SECOND, message_id="new"))
    world.clock.advance(60 + SETTLE)

    query = {"from": times.iso(NOW - 59 * times.MINUTE), "to": times.iso(NOW + times.MINUTE)}
    seen: list[Any] = []
    read, world.columns.read = world.columns.read, lambda each: seen.append(each) or read(each)  # type: ignore[method-assign, func-returns-value]

    assert total(world, query) == 40
    starts = {each.lower for each in seen}
    assert times.iso(NOW) in starts
    # The first ten minutes of the window were cached as one slot; it now needs nine of these minutes.
    assert len(seen) == 2


def test_the_edges_of_a_window_are_read_once() -> None:
    world = world_with()
    midnight = NOW // times.DAY * times.DAY - times.DAY
    evening = {"from": times.iso(midnight - 2 * times.HOUR), "to": times.iso(midnight)}
    total(world, evening)
    seen: list[str] = []
    read = world.columns.read
    world.columns.read = lambda each: seen.append(each.lower) or read(each)  # type: ignore[method-assign, func-returns-value]

    total(world, {**evening, "to": times.iso(midnight + times.DAY + times.SECOND)})

    assert seen.count(times.iso(midnight + times.DAY)) == world.shards
    assert seen.count(times.iso(midnight)) == world.shards


OPEN_QUERY = {"from": times.iso(NOW - 21_500_000), "to": times.iso(NOW + times.HOUR)}
"""A window that begins and ends in minutes with messages."""


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
    seen: list[Span] = []
    read = world.columns.read

    def watch(query: Any) -> Any:
        seen.append(Span(*((times.micros_of(each) - NOW) // times.SECOND for each in (query.lower, query.upper))))
        return read(query)

    world.columns.read = watch  # type: ignore[method-assign]

    total(world, OPEN_QUERY, reader)
    assert set(seen) == {Span(40, 50), Span(50, 3600)}
    seen.clear()
    total(world, OPEN_QUERY, other)
    assert set(seen) == {Span(-22, -20), Span(50, 3600)}


def test_a_minute_is_merged_from_the_ten_seconds_that_were_counted_while_it_was_open() -> None:
    world = world_with(*(NOW + number * 5 * times.SECOND for number in range(12)))
    world.clock.advance(30)  # NOW + 55 s
    total(world, OPEN_QUERY)
    world.clock.advance(SETTLE + 10)
    seen: list[str] = []
    read = world.columns.read
    world.columns.read = lambda query: seen.append(query.lower) or read(query)  # type: ignore[method-assign, func-returns-value]

    assert total(world, {"from": times.iso(NOW), "to": times.iso(NOW + times.MINUTE)}) == 12
    assert set(seen) == {times.iso(NOW + 40 * times.SECOND)}


def test_a_late_event_invalidates_only_its_own_minute() -> None:
    world = world_with(*(NOW - number * times.MINUTE for number in range(1, 60)))
    total(world)
    world.put(world.row(NOW - 30 * times.MINUTE, message_id="late"))
    world.clock.advance(SETTLE + 3)

    assert reads(world, lambda: total(world)) == 2
    assert reads(world, lambda: total(world)) == 0


def test_nothing_is_cached_while_the_index_may_lag_behind_a_late_event() -> None:
    world = world_with(NOW - times.MINUTE)
    world.lag = SETTLE - 1
    world.put(world.row(NOW - times.MINUTE, message_id="late"))

    assert total(world) == 1  # not yet in the index
    world.clock.advance(SETTLE)

    assert total(world) == 2


def test_a_minute_is_cached_only_after_the_settling_time() -> None:
    world = world_with()
    world.clock.advance((NOW + 58 * times.SECOND - world.clock.now()) / times.SECOND)
    world.lag = SETTLE - 1
    world.put(world.row(NOW + 57 * times.SECOND, message_id="last"))
    query = {"from": times.iso(NOW), "to": times.iso(NOW + times.MINUTE)}

    world.clock.advance(3)
    assert total(world, query) == 0
    world.clock.advance(SETTLE)

    assert total(world, query) == 1


@pytest.mark.parametrize("pause", [0, SETTLE + 3])
@pytest.mark.parametrize("step", range(0, 24, 2))
def test_a_late_event_during_a_read_invalidates_the_result(step: int, pause: int) -> None:
    world = world_with(*(NOW - number * times.MINUTE for number in range(1, 60)))
    total(world)
    # Merged again from the cached minutes, except for one.
    world.cache.drop(lambda key, _: ":chat:600:" in key or ":chat:3600:" in key or key.endswith("000"))

    def late() -> None:
        world.put(world.row(NOW - 30 * times.MINUTE, message_id="late"))
        world.clock.advance(pause)

    world.actions = [lambda: None] * step + [late]
    total(world)
    if world.actions:
        late()
    world.actions.clear()
    world.clock.advance(SETTLE + 3)

    assert [total(world), total(world)] == [60, 60]


@pytest.mark.parametrize("narrowed", [{"roomId": "r0"}, {"userId": "u0"}, {"roomId": "r0", "userId": "u0"}])
def test_a_late_event_also_invalidates_filtered_answers(narrowed: dict[str, str]) -> None:
    world = world_with(NOW - times.MINUTE)
    assert total(world, HOUR_QUERY | narrowed) == 1
    world.put(world.row(NOW - times.MINUTE, message_id="late"))
    world.clock.advance(SETTLE + 3)

    assert total(world) == 2
    assert total(world, HOUR_QUERY | narrowed) == 2
    assert reads(world, lambda: total(world, HOUR_QUERY | narrowed)) == 0


def test_after_the_cache_is_emptied_nothing_is_cached_for_a_while() -> None:
    world = world_with(NOW - times.MINUTE)
    world.lag = SETTLE - 0.5
    world.put(world.row(NOW - times.MINUTE, message_id="late"))

    world.cache.clear()
    assert total(world) == 1
    world.clock.advance(SETTLE)

    assert total(world) == 2


def test_a_generation_that_was_lost_validates_nothing() -> None:
    world = world_with(NOW - times.MINUTE)
    total(world)
    world.put(world.row(NOW - times.MINUTE, message_id="late"))
    world.cache.drop(lambda key, _: "generation" in key)

    assert total(world) == 2


def test_an_aggregate_of_a_layout_from_before_an_upgrade_counts_as_missing() -> None:
    world = world_with(NOW - times.MINUTE)
    total(world)
    for key, (value, until) in list(world.cache._entries.items()):
        if key.startswith("slot:"):
            world.cache._entries[key] = (value[:12] + bytes([LAYOUT + 1]) + value[13:], until)

    assert total(world) == 1


def test_a_slot_built_from_fewer_shards_is_not_used_for_more() -> None:
    world = world_with(NOW - times.MINUTE)
    row = world.row(NOW - times.MINUTE, message_id="grown") | {"bucketId": keys.shard_names(8)[5]}
    world.put(row)
    world.clock.advance(SETTLE + 3)

    assert total(world) == 1
    assert total(world, reader=world.reader(shards=6)) == 2
    assert total(world, reader=world.reader(shards=6)) == 2


def test_messages_stored_before_an_increase_of_shards_are_counted() -> None:
    world = world_with(*(NOW - number * times.SECOND for number in range(1, 20)))
    world.shards = 7
    world.put(world.row(NOW - times.MINUTE, message_id="new"))
    world.clock.advance(SETTLE + 3)

    assert total(world) == 20


def test_expired_rows_are_also_excluded_from_cached_slots() -> None:
    world = world_with()
    expires = NOW // times.SECOND + 600
    world.put(world.row(NOW - times.MINUTE, message_id="a", expires=expires))
    world.put(world.row(NOW - times.MINUTE, message_id="b"))
    world.clock.advance(SETTLE + 3)
    assert [total(world), total(world)] == [2, 2]

    world.clock.advance(600)

    assert [total(world), total(world)] == [1, 1]


def test_of_two_concurrent_queries_only_one_reads_the_table() -> None:
    world = world_with(*(NOW - number * times.MINUTE for number in range(1, 30)))
    second: list[int] = []
    waits: list[float] = []

    def other() -> None:
        reader = replace(world.reader(), sleep=waits.append)
        second.append(total(world, reader=reader))

    world.actions = [lambda: None] * 12 + [other]
    first = reads(world, lambda: total(world))

    assert second == [29]
    assert sum(waits) <= builder.WAIT_SECONDS + 0.001
    assert first > 0


def test_p10_after_a_bounded_wait_for_another_builder_rows_are_read() -> None:
    """The result is not stored in the cache."""
    world = world_with(NOW - times.MINUTE)
    hour = (NOW - times.HOUR) // times.SECOND
    slot = Slot(hour - hour % HOUR, HOUR)
    world.cache.set_many({f"builder:{generations.slot_aggregate('chat', slot)}": (b"1", 10)})
    waits: list[float] = []
    reader = replace(world.reader(), sleep=waits.append)

    assert total(world, reader=reader) == 1
    assert sum(waits) == pytest.approx(builder.WAIT_SECONDS)
    assert builder.WAIT_SECONDS < 0.25
    assert not [key for key in world.cache._entries if key.startswith("slot:chat:60")]


@pytest.mark.parametrize("calls", range(12))
def test_p10_a_cache_lost_during_a_query_changes_no_answer(calls: int) -> None:
    """The query does not try it again."""
    world = world_with(*(NOW - number * times.MINUTE for number in range(1, 30)))
    fails: list[int] = []

    def go() -> None:
        world.cache.down = True
        fails.append(1)

    seen = [0]

    def between() -> None:
        seen[0] += 1
        if seen[0] > calls:
            go()

    world.cache.between = between  # type: ignore[method-assign]
    assert total(world) == 29
    assert len(fails) <= 1

    world.cache.between = lambda: None  # type: ignore[method-assign]
    world.cache.down = False
    assert total(world) == 29


def test_after_a_timeout_the_next_query_continues_from_what_was_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = world_with(*(NOW - number * times.MINUTE for number in range(1, 58)))
    monkeypatch.setattr(build, "LONGEST_CHUNK", 10)
    request = request_of("window", HOUR_QUERY, world.reader().stream)

    def call() -> dict[str, Any] | StoreThrottled:
        ticks = iter(range(1, 1000))
        monkeypatch.setattr(scanner, "time", SimpleNamespace(monotonic=lambda: next(ticks)))
        try:
            return answer(world.reader(), "window", request, 30)
        except StoreThrottled as error:
            return error

    answers = [call()]
    while not isinstance(answers[-1], dict) and len(answers) < 20:
        answers.append(call())

    assert isinstance(answers[0], StoreThrottled)
    assert answers[0].retry_after == 1
    assert isinstance(answers[-1], dict)
    assert answers[-1]["totalMessages"] == 57


def test_a_month_without_messages_needs_few_cache_keys() -> None:
    world = world_with(*(NOW - number * times.DAY for number in range(1, 30)))

    query = {"from": times.iso(NOW - 30 * times.DAY), "to": times.iso(NOW - 2 * times.DAY)}
    assert total(world, query) == 27

    minutes = [key for key in world.cache._entries if key.startswith(f"slot:chat:{MINUTE}:")]
    assert len(minutes) < 100
    assert reads(world, lambda: total(world, query)) == 0
