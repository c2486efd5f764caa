"""A paced sender slows down after refusals; another one only waits before it sends again."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from typing import Any

import pytest

from headrace_client import BlockingSender
from loadtest.sending import delivery
from loadtest.sending.delivery import CountedEvents, Delivery


class Ride(str):
    """A ride, which is its name."""

    __slots__ = ()

    def event(self) -> dict[str, Any]:
        return {"name": self}


class Refusing:
    """Refuses the first requests, and accepts the others."""

    max_events, max_bytes = 25, 100_000

    def __init__(self, refusals: int) -> None:
        self._left = refusals

    def post(self, events: Sequence[Any]) -> list[dict[str, Any]]:
        self._left -= 1
        refused = {"error": {"code": "rate_limited", "retryAfter": 0.001}}
        return [refused if self._left >= 0 else {"lane": "main"}] * len(events)


@pytest.mark.parametrize(("paced", "waits"), [(True, True), (False, False)])
def test_after_refusals_a_paced_sender_waits_before_its_next_event(
    paced: bool, waits: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[float] = []
    monkeypatch.setattr(time, "sleep", waited.append)
    monkeypatch.setattr(delivery, "BlockingSender", partial(BlockingSender, sleep=lambda _: None))
    recorder: CountedEvents[Ride] = CountedEvents()
    sender = Delivery(Refusing(12), recorder, paced=paced)
    sender.send([Ride("a")])
    assert recorder.all_accepted == ["a"]
    waited.clear()

    sender.wait()

    assert bool(waited) == waits
    assert all(seconds > 0.5 for seconds in waited)  # twelve halvings of 1,000 events a second leave the lowest rate
