"""Accepted events are on the broker or in the retry lane; others are refused with what a retry needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace

import pytest

from headrace.api.error_bodies import Result
from headrace.core.caller import Caller
from headrace.core.errors import (
    BrokerUnavailable,
    ConnectionLost,
    NotFound,
    PublisherBlocked,
    PublishNacked,
    PublishReturned,
    PublishUnconfirmed,
)
from headrace.core.sender import ValidatedEvent
from headrace.delivery import acceptor
from headrace.queues.names import persist_queues
from headrace.queues.ports import Outcome, Outgoing
from headrace.runtime.observability import Meter
from tests.worlds.senders import CHAT, NOW, caller, message
from tests.worlds.write_path import WritePath

LATER = "2025-11-21T10:01:00.000000Z"


def accept(write_path: WritePath, *raws: object, meter: Meter | None = None) -> list[Result]:
    return write_path.acceptor.accept(CHAT, caller(), raws, "c-1", meter or Meter())


def test_an_accepted_event_is_on_the_broker() -> None:
    """P1, fault 1: acknowledged when it is only in memory."""
    write_path = WritePath()

    (result,) = accept(write_path, message())

    assert result.to_body() == {"roomId": "kitchen", "messageId": "m-1", "timestamp": NOW, "lane": "main"}
    assert [event["messageId"] for event in write_path.published()] == ["m-1"]


@pytest.mark.parametrize(
    "failure", [PublishReturned, PublishNacked, PublishUnconfirmed, ConnectionLost, PublisherBlocked]
)
def test_an_event_whose_publish_fails_takes_the_retry_lane(
    failure: type[BrokerUnavailable],
) -> None:
    """P2, fault 7: answering OK without a confirm, or swallowing the error."""
    write_path = WritePath()
    write_path.broker.fail_next(failure("no"))

    (result,) = accept(write_path, message())

    assert result.lane == "retry"
    assert write_path.published() == []
    assert [event["messageId"] for event in write_path.retried()] == ["m-1"]


def test_a_repeated_event_is_published_once_and_answered_twice() -> None:
    write_path = WritePath()

    results = accept(write_path, message(), message(messageId="other"), message())

    assert results[0].to_body() == results[2].to_body()
    assert [event["messageId"] for event in write_path.published()] == ["m-1", "other"]


def test_a_repeated_event_is_answered_with_the_time_that_its_gate_gives_it() -> None:
    write_path = WritePath()

    class LaterGate:
        def admit(self, _caller: Caller, events: Sequence[ValidatedEvent], _now: int) -> Sequence[None]:
            for each in events:
                each.event["timestamp"] = each.receipt["timestamp"] = LATER
            return [None] * len(events)

    acceptor = replace(write_path.acceptor, gates=lambda _kind: (LaterGate(),))
    results = acceptor.accept(CHAT, caller(), [message(), message()], "c-1", Meter())

    assert [event["timestamp"] for event in write_path.published()] == [LATER]
    assert [result.receipt["timestamp"] for result in results] == [LATER, LATER]


def test_a_request_is_one_envelope_on_one_queue() -> None:
    write_path = WritePath()

    accept(write_path, *(message(messageId=str(number)) for number in range(25)))

    assert len(write_path.broker.bodies()) == 1


def test_requests_spread_over_all_queues_of_their_stream_even_from_one_room() -> None:
    write_path = WritePath()

    for number in range(40):
        accept(write_path, message(messageId=str(number)))

    assert {name for name, held in write_path.broker.queues.items() if held} == set(persist_queues({"chat": 4}))


def test_accepted_and_refused_events_are_counted() -> None:
    write_path, meter = WritePath(), Meter()
    write_path.broker.fail_next(ConnectionLost("cut"))

    accept(write_path, message(), {}, meter=meter)
    accept(write_path, message(), meter=meter)

    counts = {lane: meter.line(stream="chat", lane=lane).metrics["Accepted"] for lane in ("main", "retry")}
    assert counts == {"main": [1], "retry": [1]}
    assert meter.line(stream="chat", code="invalid_event").metrics == {"Refused": [1]}


def test_the_times_to_publish_and_to_be_confirmed_are_measured_once_per_request(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    write_path, meter, clock = WritePath(), Meter(), SimpleNamespace(now=1000.0)
    publish = write_path.broker.publish

    def slow(messages: Sequence[Outgoing]) -> list[Outcome]:
        clock.now += 0.4
        write_path.broker.confirm_seconds += 0.25
        return publish(messages)

    monkeypatch.setattr(write_path.broker, "publish", slow)
    monkeypatch.setattr(acceptor, "time", SimpleNamespace(perf_counter=lambda: clock.now))
    accept(write_path, message(), message(messageId="m-2"), meter=meter)
    accept(write_path, {}, meter=meter)  # nothing is published
    accept(write_path, message(messageId="m-3"), meter=meter)

    metrics = meter.line(stream="chat", lane="main").metrics
    assert [metrics[name] for name in ("PublishSeconds", "ConfirmSeconds")] == [[0.4, 0.4], [0.25, 0.25]]


def test_a_refused_event_is_named_by_the_id_of_its_own_stream() -> None:
    rides = replace(CHAT, id_field="rideId")

    (result,) = WritePath().acceptor.accept(rides, caller(), [{"rideId": "r-1", "messageId": "m-1"}], "c-1", Meter())

    assert result.to_body().keys() == {"rideId", "error"}
    assert result.receipt == {"rideId": "r-1"}


def test_a_gate_gets_only_what_the_gates_before_it_let_pass() -> None:
    write_path, asked = WritePath(), list[str]()

    class First:
        def admit(self, _caller: Caller, events: Sequence[ValidatedEvent], _now: int) -> Sequence[NotFound | None]:
            return [NotFound() if each.id == "m-1" else None for each in events]

    class Second:
        def admit(self, _caller: Caller, events: Sequence[ValidatedEvent], _now: int) -> Sequence[None]:
            asked.extend(each.id for each in events)
            return [None] * len(events)

    acceptor = replace(write_path.acceptor, gates=lambda kind: (First(), Second()) if kind == "chat" else ())
    acceptor.accept(CHAT, caller(), [message(messageId="m-1"), message(messageId="m-2")], "c-1", Meter())

    assert asked == ["m-2"]
