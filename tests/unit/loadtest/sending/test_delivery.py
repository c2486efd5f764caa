"""Senders wait as the stage says, and give up by a time; a paced one slows down, too."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import pytest

from loadtest.sending.delivery import CountedEvents, Delivery
from localstage.client.errors import ClientError

BEHIND = "the stage is behind: an event would wait about 47 s to be stored"


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
        refused = {"error": {"code": "rate_limited", "message": BEHIND, "retryAfter": 7}}
        return [refused if self._left >= 0 else {"lane": "main"} for _ in events]


class Stopping(threading.Event):
    """Is set after a thousand waits, of which none takes time."""

    def __init__(self) -> None:
        super().__init__()
        self.waited: list[float] = []

    def wait(self, timeout: float | None = None) -> bool:
        self.waited.append(timeout or 0.0)
        if len(self.waited) == 1_000:
            self.set()
        return self.is_set()


@pytest.mark.parametrize(("paced", "waits"), [(True, True), (False, False)])
def test_after_refusals_a_paced_sender_waits_before_its_next_event(paced: bool, waits: bool) -> None:
    stopping, recorder = Stopping(), CountedEvents[Ride]()
    sender = Delivery(Refusing(40), recorder, paced=paced, stopping=stopping)
    sender.send([Ride("a")])
    assert recorder.all_accepted == ["a"]
    assert sum(seconds >= 7 for seconds in stopping.waited) >= 40
    stopping.waited.clear()

    sender.wait()

    assert bool(stopping.waited) == waits
    assert all(seconds > 0.5 for seconds in stopping.waited)  # many halvings of 1,000 events a second leave the lowest


def test_a_repeated_request_is_refused_and_waits_as_any_other() -> None:
    recorder, stopping = CountedEvents[Ride](), Stopping()
    sender = Delivery(Refusing(2), recorder, stopping=stopping)

    sender.repeat([Ride("a")])

    assert len(stopping.waited) == 2
    assert recorder.attempts == 0
    with pytest.raises(ClientError, match="events not accepted in at most 5 s"):
        Delivery(Refusing(2), recorder, retry_timeout=5).repeat([Ride("a")])
