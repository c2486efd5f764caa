"""The durable latency is sampled at fixed times, so that a stall shows in the percentiles."""

from __future__ import annotations

import threading
import time
from collections import Counter
from typing import Any

import pytest

from loadtest.checker.durability_probe import DurabilityProbe, in_history
from loadtest.client.chat_events import ChatEvent
from localstage.client.errors import ClientError, HttpError, TokenRefused


class Table:
    """A room's history in which nothing appears while it stalls. ``down``: requests fail."""

    def __init__(self) -> None:
        self.stalled = False
        self.asked = Counter[str]()
        self._stored: set[str] = set()
        self._accepted: set[str] = set()

    def accept(self, event: ChatEvent) -> None:
        self._accepted.add(event.message_id)

    def room_page(self, room: str, **_: Any) -> dict[str, Any]:
        self.asked[room] += 1
        if not self.stalled:
            self._stored |= self._accepted
        return {"items": [{"messageId": each} for each in self._stored]}


def offer(probe: DurabilityProbe, table: Table, seconds: float) -> None:
    """Accept a message every millisecond."""
    end = time.perf_counter() + seconds
    number = 0
    while (now := time.perf_counter()) < end:
        event = ChatEvent("lobby", f"m-{number}-{now}", "2025-11-21T10:00:00.000000Z", "alice", "hello")
        table.accept(event)
        probe.offer([event], now)
        number += 1
        time.sleep(0.001)


@pytest.fixture
def table() -> Table:
    return Table()


def probe_of(table: Table, values: list[float]) -> DurabilityProbe:
    reader: Any = table
    return DurabilityProbe(in_history(reader), lambda seconds, _: values.append(seconds), every=0.02)


def test_the_samples_of_a_stall_are_as_many_as_at_other_times(table: Table) -> None:
    values: list[float] = []
    probe = probe_of(table, values)
    table.stalled = True
    threading.Timer(0.5, setattr, (table, "stalled", False)).start()

    offer(probe, table, 0.5)
    probe.finish()

    assert 10 <= len(values) <= 26
    assert sum(value > 0.25 for value in values) >= len(values) * 0.3


@pytest.mark.parametrize("error", [TokenRefused("no"), HttpError(401, "unauthorized", "no")])
def test_without_a_valid_token_a_sample_has_no_value(error: ClientError) -> None:
    def refuse() -> int:
        raise error

    values: list[float] = []
    probe = DurabilityProbe(lambda _: (1, refuse), lambda seconds, _: values.append(seconds))

    probe.offer(["a"], time.perf_counter())

    probe.finish()
    assert values == []
