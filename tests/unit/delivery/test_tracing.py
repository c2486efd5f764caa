"""Every step of an event writes a line with the correlation id of its request."""

from __future__ import annotations

import base64
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from headrace.delivery.retry_schedule import RECEIVES
from headrace.live import copies
from headrace.live.push_service import PushService
from headrace.runtime import observability
from headrace.runtime.observability import LogThrottle, logger
from headrace.streams.chat.messages.hooks import LiveHook
from tests.fakes.queues import QueuedMessage
from tests.worlds.live_world import Live
from tests.worlds.senders import CHAT, CLOCK, NOW, TABLE, message, sender
from tests.worlds.write_path import WritePath, frame_event, received_event

INVOCATION = "invocation-1"


@pytest.fixture(autouse=True)
def fresh_log(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(observability, "_throttle", LogThrottle())
    logger.set_correlation_id("id-of-an-earlier-request")
    yield
    logger.set_correlation_id(None)


class Lines:
    """What the functions wrote: metric lines, and log lines."""

    def __init__(self, out: pytest.CaptureFixture[str], log: pytest.LogCaptureFixture) -> None:
        self._out = out
        self._log = log

    def metrics(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self._out.readouterr().out.splitlines()]

    def log(self) -> list[dict[str, Any]]:
        return [json.loads(logger.registered_formatter.format(record)) for record in self._log.records]


@pytest.fixture
def lines(capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture) -> Lines:
    return Lines(capsys, caplog)


def send(world: WritePath, request: str, message_id: str) -> None:
    """Send a message to receive_frame in a request with this id."""
    event = frame_event({"roomId": "kitchen", "messageId": message_id, "timestamp": NOW, "message": "hello"})
    event["requestContext"]["requestId"] = request
    world.frame("sendMessage", event)


def batch(*messages: QueuedMessage, redelivered: bool = False) -> dict[str, Any]:
    """The RabbitMQ event of these messages."""
    records = [
        {
            "basicProperties": {"correlationId": each.correlation_id},
            "data": base64.b64encode(each.body).decode(),
            "redelivered": redelivered,
        }
        for each in messages
    ]
    return {"rmqMessagesByQueue": {"persist.chat.0::/": records}}


def published(world: WritePath) -> list[QueuedMessage]:
    return [each for queue in world.broker.queues.values() for each in queue]


def lines_with(found: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    return [line for line in found if name in line]


def test_an_accepted_event_has_its_id_beside_that_of_its_request(lines: Lines) -> None:
    send(WritePath(), "r-1", "m-1")

    (line,) = lines_with(lines.metrics(), "Accepted")
    assert (line["correlation_id"], line["ids"], line["lane"]) == ("r-1", {"m-1": 1}, "main")
    assert "ids" not in json.dumps(line["_aws"])


def test_an_event_that_was_not_stored_keeps_its_id_until_it_is(lines: Lines) -> None:
    world = WritePath()
    world.store.throttled = lambda item: item["messageId"] == "m-2"
    send(world, "r-1", "m-1")
    send(world, "r-2", "m-2")
    lines.metrics()

    world.persister.main_lane(batch(*published(world)), lambda: 60, INVOCATION)

    found = lines.metrics()
    assert [line["notStored"] for line in lines_with(found, "NotStored")] == [{"r-2": 1}]
    assert [line["stored"] for line in lines_with(found, "Stored")] == [{"r-1": 1}]
    assert [line["handedOver"] for line in lines_with(found, "HandedOver")] == [{"r-2": 1}]

    world.store.throttled = lambda _: False
    world.persister.retry_lane(received_event(world.retry.receive(1)), invocation=INVOCATION)

    (line,) = lines_with(lines.metrics(), "Stored")
    assert (line["lane"], line["stored"], line["correlation_id"]) == ("retry", {"r-2": 1}, "r-2")


def test_an_event_without_a_broker_goes_to_the_retry_lane_with_its_id(lines: Lines) -> None:
    world = WritePath()
    world.broker.down = True

    send(world, "r-1", "m-1")

    (record,) = world.retry.records
    assert record.attributes["correlationId"] == "r-1"
    assert {line["correlation_id"] for line in lines.metrics() + lines.log()} == {"r-1"}


def test_redelivered_records_are_traced_without_being_read(lines: Lines) -> None:
    """They may have crashed the function, so that only their AMQP properties are looked at."""
    world = WritePath()
    poison = QueuedMessage("persist.chat.0", b"\xff not an envelope", "r-9")

    world.persister.main_lane(batch(poison, redelivered=True), lambda: 60, INVOCATION)

    (record,) = world.retry.records
    assert record.attributes["correlationId"] == "r-9"
    assert [line["handedOver"] for line in lines_with(lines.metrics(), "HandedOver")] == [{"r-9": 1}]


@pytest.mark.parametrize("foreign", ["", "x" * 65, "a\x00b", "two words", "Zo\u00eb", None, 7])
def test_an_id_that_sqs_may_refuse_is_left_out(foreign: Any) -> None:
    """Else a foreign message would block its batch: SQS takes no empty attribute and no control character."""
    world = WritePath()
    event = batch(QueuedMessage("persist.chat.0", b"not an envelope", foreign))

    world.persister.main_lane(event, lambda: 60)

    (record,) = world.retry.records
    assert "correlationId" not in record.attributes


@pytest.mark.parametrize("foreign", ["x" * 65, "two words", "Zo\u00eb"])
def test_an_id_that_only_strangers_write_is_in_no_line_and_on_no_live_copy(foreign: str) -> None:
    """A live copy has the id as a short string of AMQP, of at most 255 bytes."""
    world = WritePath()
    world.broker.down = True
    send(world, "r-1", "m-1")
    event = received_event(world.retry.receive(1))
    event["Records"][0]["messageAttributes"]["correlationId"]["stringValue"] = foreign

    world.persister.retry_lane(event, invocation=INVOCATION)

    assert logger.get_correlation_id() == INVOCATION
    assert len(world.rows()) == 1


def test_a_record_that_crashed_the_function_is_logged_before_it_is_read(
    lines: Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = WritePath()
    world.broker.down = True
    send(world, "r-1", "m-1")
    (received,) = world.retry.receive(1)
    received.received = 2

    def crash(*_: object) -> None:
        raise SystemExit

    monkeypatch.setattr(world.persister, "_store_again", crash)
    with pytest.raises(SystemExit):
        world.persister.retry_lane(received_event([received]))

    line = lines.log()[-1]
    assert (line["correlation_id"], line["attempt"], line["level"]) == ("r-1", 2, "INFO")


def test_a_dead_event_has_the_id_of_its_request(lines: Lines) -> None:
    world = WritePath()
    world.broker.down = world.store.down = True
    send(world, "r-1", "m-1")
    lines.metrics()
    (received,) = world.retry.receive(1)
    received.received = RECEIVES

    world.persister.retry_lane(received_event([received]))

    assert [line["dead"] for line in lines_with(lines.metrics(), "Dead")] == [{"r-1": 1}]


def test_a_line_has_no_correlation_id_of_an_earlier_batch(lines: Lines) -> None:
    world = WritePath()

    world.persister.main_lane(batch(QueuedMessage("persist.chat.0", b"not an envelope", "")), lambda: 60)

    assert all("correlation_id" not in line for line in lines.metrics())


def test_each_stored_event_has_a_line_at_debug_level(lines: Lines, caplog: pytest.LogCaptureFixture) -> None:
    world = WritePath()
    send(world, "r-1", "m-1")
    caplog.set_level(logging.DEBUG, logger=logger.name)

    world.persister.main_lane(batch(*published(world)), lambda: 60, INVOCATION)

    (line,) = lines_with(lines.log(), "events")
    assert (line["events"], line["correlation_id"], line["lane"]) == (["m-1"], "r-1", "main")


def test_live_copies_have_the_id_of_the_lines_that_say_stored(lines: Lines) -> None:
    live = Live()
    live.subscribe("kitchen")
    hook: LiveHook = live.hook
    logger.set_correlation_id("r-1")
    hook.after_store([CHAT.item(CHAT.accept(message(), sender()).event, CLOCK.now(), TABLE)])
    (copy,) = live.publisher.sent
    assert (copy.correlation_id, copies.parse(copy.body).room_id) == ("r-1", "kitchen")

    pusher = PushService(live.connections, _Deaf())
    event = batch(QueuedMessage(copy.routing_key, copy.body, copy.correlation_id))
    pusher.push(event, INVOCATION)

    (line,) = lines_with(lines.metrics(), "LivePushed")
    assert (line["copies"], line["correlation_id"]) == ({"r-1": 1}, "r-1")


class _Deaf:
    """Delivers nothing."""

    def deliver(self, pushes: Any, _seconds: float) -> list[str]:
        return ["unsent"] * len(pushes)
