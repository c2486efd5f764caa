"""Slots are built within the time of a request, and what was read is kept."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from headrace.core import times
from headrace.core.errors import StoreThrottled
from headrace.features.analytics import builder, scanner
from headrace.features.analytics.time_slots import MINUTE
from tests.worlds.slot_world import HOUR_QUERY, NOW, answer, reads, request_of, total, world_with


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
