"""New events of a stream with a backlog are refused: those of producers first, those of users last."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest

from headrace.core.envelope import Envelope
from headrace.core.errors import BrokerUnavailable
from headrace.core.times import iso
from headrace.delivery.backlog import SHARE_SECONDS, BacklogReports, SharedWaits
from headrace.delivery.backlog_limit import BacklogLimit
from headrace.runtime.observability import Meter
from headrace.stage.chosen import actions
from tests.fakes.clock import FixedClock
from tests.fakes.commands import MemoryCommands
from tests.worlds.requests import http_event
from tests.worlds.senders import CHAT, NOW, caller, message, sender
from tests.worlds.write_path import CLOCK, ROOM_POST, WritePath, frame_event, rabbit_event

LIMIT = 30
IMPORTER = caller("importer", "events:write")
CHANGING = [each for each in ("editMessage", "deleteMessage", "react", "unreact") if each in actions()]
"""Frames of features that this stage has."""


@dataclass
class Limits:
    """What one request of a client holds."""

    max_events: int
    max_bytes: int


class Stage:
    """An environment of each side of one cache. ``ready`` are the records that the broker holds."""

    def __init__(self) -> None:
        self.clock = FixedClock(NOW)
        self.cache = MemoryCommands()
        self.ready = 0
        self.broker_is_down = False
        self.asked: list[str] = []
        self.waits = SharedWaits(self.cache, self.clock)
        self.reports = BacklogReports(self.waits, self._depth)
        self.limit = BacklogLimit(self.waits, ("chat", "ski"), LIMIT, self._seconds)
        self.path = WritePath(backlog=self.limit, reports=self.reports)
        self.clock.advance(SHARE_SECONDS)

    def _seconds(self) -> float:
        return self.clock.now() / 1_000_000

    def _depth(self, queue: str) -> int:
        self.asked.append(queue)
        if self.broker_is_down:
            raise BrokerUnavailable("no")
        return self.ready

    def late(self, seconds: float, queue: str = "persist.chat.0") -> None:
        """Share that a new event would wait for so many seconds."""
        self.waits.write(queue, seconds)
        self.clock.advance(SHARE_SECONDS)

    def store(self, records: int, seconds: float, waited: float, queue: str = "persist.chat.0") -> None:
        """Store a batch, whose oldest event has waited."""
        self.reports.begin(queue, records, waited)
        if self.reports._background._running is not None:
            self.reports._background._running.result(5)
        self.reports.end(queue, records, seconds)

    def refused(self, *scopes: str, stream: str = "chat") -> int:
        """Seconds after which a refused caller may send again; 0 if an event is not refused."""
        error = self.limit.refusal(stream, caller("alice", *scopes), 1, Meter())
        return error.retry_after if error else 0


@pytest.mark.parametrize(
    ("wait", "producers", "users"), [(30, 0, 0), (31, 1, 0), (39.2, 10, 0), (60, 10, 0), (64, 10, 4), (90, 10, 10)]
)
def test_producers_are_refused_before_users(wait: float, producers: int, users: int) -> None:
    stage = Stage()
    stage.late(wait)

    assert (stage.refused("events:write"), stage.refused("chat:write")) == (producers, users)


def test_a_wait_counts_while_the_batch_that_shared_it_is_stored() -> None:
    stage = Stage()
    stage.store(1, 5.0, waited=2.0)  # opens connections
    for _ in range(2):
        stage.store(200, 25.0, waited=40.0)

    stage.clock.advance(49)
    assert stage.waits.read(["chat"]) == {"chat": 25.0}
    stage.clock.advance(1)
    assert stage.waits.read(["chat"]) == {"chat": 0.0}


def test_without_the_cache_nothing_is_refused() -> None:
    stage = Stage()
    stage.late(500)
    assert stage.refused("chat:write")
    stage.cache.down = True

    stage.clock.advance(SHARE_SECONDS)

    assert not stage.refused("events:write")


def test_what_is_no_number_in_the_cache_refuses_nothing() -> None:
    stage = Stage()
    stage.late(500)
    stage.cache.run([("HSET", "backlog:chat", "persist.chat.1", "soon")])

    assert not stage.refused("events:write")


def test_the_wait_is_of_a_new_event_and_not_the_age_of_the_oldest() -> None:
    """20 records/s are stored; 1,000 wait, and a batch of 200 is in flight: a new one waits for a minute."""
    stage = Stage()
    stage.store(1, 5.0, waited=2.0)  # opens connections
    stage.store(1, 5.0, waited=0.1)
    stage.store(200, 10.0, waited=2.0)
    stage.ready = 1000
    assert not stage.asked, "the rate was not known yet"

    stage.store(200, 10.0, waited=2.0)

    assert stage.waits.read(["chat", "ski"]) == {"chat": 60.0, "ski": 0.0}
    assert stage.refused("events:write")


@pytest.mark.parametrize("lost", ["broker", "cache"])
def test_a_batch_is_stored_though_its_wait_cannot_be_shared(lost: str) -> None:
    stage = Stage()
    stage.broker_is_down, stage.cache.down = lost == "broker", lost == "cache"
    event = CHAT.accept(message(), sender()).event

    for _ in range(3):
        stage.path.persist(Envelope("chat", "c-1", "2025-11-21T10:00:00.000000Z", [event]).encode())

    assert [row["messageId"] for row in stage.path.rows()] == ["m-1"]


def test_a_late_batch_of_the_main_lane_shares_its_wait() -> None:
    """P4: the queue's name and the age of the batch are those of the event from RabbitMQ."""
    stage = Stage()
    stage.ready = 10_000_000
    event = CHAT.accept(message(), sender()).event
    late = Envelope("chat", "c-1", "2025-11-21T10:00:00.000000Z", [event]).encode()

    for _ in range(2):
        stage.path.persist(late)
        assert not stage.asked, "the rate is not known yet"
    stage.path.persist(late)

    assert stage.reports._background._running is not None
    stage.reports._background._running.result(5)
    assert stage.asked == ["persist.chat.0"]
    assert stage.waits.read(["chat"])["chat"] > LIMIT


def test_a_redelivered_record_does_not_hide_that_its_batch_is_late() -> None:
    stage = Stage()
    event = CHAT.accept(message(), sender()).event
    batch = rabbit_event(
        Envelope("chat", "c-1", at, [event]).encode() for at in ("2025-11-21T10:00:00.000000Z", iso(CLOCK.now()))
    )
    batch["rmqMessagesByQueue"]["persist.chat.0::/"][1]["redelivered"] = True

    for _ in range(3):
        stage.path.persister.main_lane(batch, lambda: 60.0)

    assert stage.reports._background._running is not None
    stage.reports._background._running.result(5)
    assert stage.asked == ["persist.chat.0"]


def test_a_refused_request_says_what_happened_and_when_to_retry() -> None:
    stage = Stage()
    stage.late(64)

    answer = stage.path.post(http_event(ROOM_POST, message(), path={"roomId": "kitchen"}))
    body = json.loads(answer["body"])

    assert (answer["statusCode"], answer["headers"]["retry-after"], body["error"]["retryAfter"]) == (429, "4", 4)
    assert body["error"]["code"] == "rate_limited"
    assert body["error"]["message"] == (
        "the stage is behind: an event would wait about 64 s to be stored; send it again as it is"
    )
    assert body["results"][0]["messageId"] == "m-1"
    assert not stage.path.published()


@pytest.mark.parametrize("action", ["sendMessage", "sendBatch", *CHANGING])
def test_a_frame_is_refused_in_its_own_form(action: str) -> None:
    stage = Stage()
    stage.late(64)

    answer = stage.path.frame(action, frame_event(_fields(action)))
    body = json.loads(answer["body"])
    error = body["results"][0]["error"] if action == "sendBatch" else body["error"]

    assert body["type"] == ("acks" if action == "sendBatch" else "error")
    assert body["requestId"] == "r-9"
    assert (error["code"], error["retryAfter"]) == ("rate_limited", 4)
    assert not stage.path.published()


def test_refused_events_are_counted_by_stream_andsender() -> None:
    stage, meter = Stage(), Meter()
    stage.late(64)

    stage.path.acceptor.accept(CHAT, IMPORTER, [message(), message(messageId="m-2")], "c-1", meter)
    stage.path.acceptor.accept(CHAT, caller(), [message()], "c-1", meter)

    assert meter.line(stream="chat", senders="trusted").metrics["BacklogLimited"] == [2]
    assert meter.line(stream="chat", senders="users").metrics["BacklogLimited"] == [1]
    assert meter.line(stream="chat", code="rate_limited").metrics["Refused"] == [3]


def _fields(action: str) -> dict[str, Any]:
    head = {"action": action, "requestId": "r-9"}
    if action == "sendBatch":
        return {**head, "events": [message()]}
    if action == "sendMessage":
        return {**head, **message()}
    key = f"{NOW}#m-1#aaaaaaaaaaaa"
    change = {"roomId": "kitchen", "key": key, "changeId": "c-1", "timestamp": NOW}
    more = {"editMessage": {"message": "new"}, "react": {"value": "up"}}
    return {**head, **change, **more.get(action, {})}
