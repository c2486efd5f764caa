"""Reading back drains first, reads everything once, and stops when everything is there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from loadtest.checker.checker import Checker
from loadtest.checker.readback import drain_and_read
from loadtest.client.chat_events import ChatEvent
from localstage.client.errors import HttpError
from localstage.client.http_api import HttpApi
from tests.fakes.clock import Seconds


class MemoryReader:
    """History whose rows become readable at given times."""

    def __init__(self, clock: Seconds) -> None:
        self._clock = clock
        self.rows: list[tuple[float, dict[str, Any]]] = []
        self.arrange: Callable[[list[dict[str, Any]]], list[dict[str, Any]]] = lambda items: items

    def add(self, event: ChatEvent, readable_at: float = 0.0) -> None:
        self.rows.append((readable_at, {"messageType": "TEXT", "userId": event.user_id, **event.event()}))

    def walk_room(
        self, room: str, *, limit: int = 200, start: str | None = None, end: str | None = None
    ) -> Iterator[list[dict[str, Any]]]:
        items = [
            item
            for at, item in self.rows
            if at <= self._clock.now and item["roomId"] == room and (start or "") <= item["timestamp"] < (end or "~")
        ]
        items.sort(key=lambda item: (item["timestamp"], item["messageId"]), reverse=True)
        items = self.arrange(items)
        for first in range(0, max(1, len(items)), limit):
            yield items[first : first + limit]


def prepared(count: int, rooms: int = 3) -> tuple[Checker, MemoryReader, Seconds, list[ChatEvent]]:
    events = [
        ChatEvent(f"room-{n % rooms}", f"id-{n:06d}", f"2025-11-21T10:00:00.{n:06d}Z", "alice", f"text {n}")
        for n in range(count)
    ]
    checker, clock = Checker(), Seconds()
    for event in events:
        checker.attempted([event])
        checker.accepted([event], ["main"], 0.0)
    return checker, MemoryReader(clock), clock, events


def test_readback_waits_for_late_events_and_reports_their_time() -> None:
    checker, reader, clock, events = prepared(1000)
    for index, event in enumerate(events):
        reader.add(event, readable_at=110.0 if index == 999 else 0.0)

    drained = drain_and_read(checker, reader, clock=clock, sleep=clock.sleep)

    assert 110.0 <= drained < 110.5
    assert checker.verdict().whole


def test_events_missing_at_the_timeout_are_lost() -> None:
    checker, reader, clock, events = prepared(1000)
    for event in events[:500] + events[502:]:
        reader.add(event)

    drain_and_read(checker, reader, patience=5.0, clock=clock, sleep=clock.sleep)

    verdict = checker.verdict()
    assert verdict.lost == 2
    assert set(verdict.examples["lost"]) == {"room-2/id-000500", "room-0/id-000501"}
    assert clock.now < 120.0


def test_what_the_lanes_hold_is_waited_for_longer_than_the_timeout() -> None:
    checker, reader, clock, events = prepared(100)
    for index, event in enumerate(events):
        reader.add(event, readable_at=400.0 if index == 3 else 0.0)

    drain_and_read(
        checker, reader, patience=5.0, waiting=lambda: int(clock.now < 400.0), clock=clock, sleep=clock.sleep
    )

    assert checker.verdict().whole


def test_a_room_whose_first_message_is_not_stored_yet_has_no_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> dict[str, Any]:
        raise HttpError(404, code, "there is no such room")

    monkeypatch.setattr(HttpApi, "get", refused)
    api = HttpApi("http://stage")
    code = "not_found"
    assert list(api.walk_room("kitchen")) == []

    code = "no_such_route"
    with pytest.raises(HttpError):
        list(api.walk_room("kitchen"))


def test_a_page_out_of_order_is_noticed_even_between_pages() -> None:
    checker, reader, clock, events = prepared(400, rooms=1)
    for event in events:
        reader.add(event)
    reader.arrange = lambda items: items[200:] + items[:200]

    drain_and_read(checker, reader, clock=clock, sleep=clock.sleep)

    verdict = checker.verdict()
    assert (verdict.disordered, verdict.lost, verdict.kept) == (1, 0, False)
