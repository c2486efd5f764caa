"""Slots are built once, within the time of a request, with or without a cache."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from headrace.core import times
from headrace.core.errors import StoreThrottled
from headrace.features.analytics import builder, generations, scanner
from headrace.features.analytics.time_slots import HOUR, MINUTE, Slot
from tests.worlds.slot_world import HOUR_QUERY, NOW, answer, reads, request_of, total, world_with


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


def test_after_a_timeout_the_next_query_continues_from_what_was_read(monkeypatch: pytest.MonkeyPatch) -> None:
    world = world_with(*(NOW - number * times.MINUTE for number in range(1, 58)))
    monkeypatch.setattr(builder, "LONGEST_CHUNK", 10)
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
