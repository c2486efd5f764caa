"""Slots are built within the time of a request, and what was read is kept."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from headrace.core import times
from headrace.core.errors import StoreThrottled
from headrace.features.analytics import builder, scanner
from tests.worlds.slot_world import HOUR_QUERY, NOW, answer, request_of, world_with


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
