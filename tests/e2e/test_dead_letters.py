"""Poison reaches the dead lane of a whole stage, and nothing else does."""

from __future__ import annotations

import json
import random
import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

import pika
import pytest

from faults.harness.poison import Poison, make
from headrace.core.envelope import Envelope
from localstage.core.lineage import MOST, lineage
from tests.e2e.clients import Client, now, unique, until
from tests.e2e.conftest import RunningStage

SECONDS = 30.0


class Queues:
    """Direct access to the queues of a stage, which no client has."""

    def __init__(self, stage: RunningStage) -> None:
        urls = {row["name"].split()[0].strip(","): row["url"] for row in stage.status["services"]}
        secret = json.loads((stage.state_dir / "secrets.json").read_text())["BrokerSecret"]["value"]
        known = json.loads(secret)
        host, port = urls["RabbitMQ"].removeprefix("amqp://").split(":")
        self._broker = pika.ConnectionParameters(
            host, int(port), credentials=pika.PlainCredentials(known["username"], known["password"])
        )
        self.sqs = stage.aws("sqs")
        found = self.sqs.list_queues()["QueueUrls"]
        self.retry = next(url for url in found if url.endswith("-retry"))
        self.dead = next(url for url in found if "-DeadLetterQueue" in url)

    def publish(self, queue: str, *bodies: bytes, exchange: str = "") -> None:
        with pika.BlockingConnection(self._broker) as connection:
            channel = connection.channel()
            channel.confirm_delivery()
            for body in bodies:
                channel.basic_publish(exchange, queue, body, pika.BasicProperties(delivery_mode=2), mandatory=True)

    def send(self, queue: str, body: str, trace: str = "", **attributes: str) -> None:
        given = {name: {"DataType": "String", "StringValue": value} for name, value in attributes.items()}
        system = {"AWSTraceHeader": {"DataType": "String", "StringValue": trace}} if trace else {}
        self.sqs.send_message(QueueUrl=queue, MessageBody=body, MessageAttributes=given, MessageSystemAttributes=system)


@pytest.fixture
def queues(platform: RunningStage) -> Queues:
    return Queues(platform)


@pytest.fixture
def operator(platform: RunningStage) -> Client:
    return Client(platform, None, "ops")


def letters(operator: Client, **query: str) -> dict[str, Any]:
    """The letters that match. A scan has four seconds, and says if it did not reach all letters in them."""

    def scan() -> dict[str, Any]:
        code, answer, _ = operator.http("GET", "/dead-letters", limit="200", bodies="true", **query)
        assert code == 200, answer
        found: dict[str, Any] = answer
        return found

    whole: dict[str, Any] = until(scan, lambda found: found["complete"], SECONDS)
    return whole


def moment() -> tuple[str, dict[str, str]]:
    """A time in the past at which no letter of another test failed, and the query for letters of this time."""
    at = datetime(1990, 1, 1, tzinfo=UTC) + timedelta(seconds=random.randrange(10**9))
    first, next_ = (f"{each:%Y-%m-%dT%H:%M:%S.%fZ}" for each in (at, at + timedelta(microseconds=1)))
    return first, {"from": first, "to": next_}


def discard_all(stage: RunningStage) -> None:
    """Empty the dead lane, where a test or a page takes that for granted."""
    operator = Client(stage, None, "ops")
    while count := letters(operator)["count"]:
        code, answer, _ = operator.http("POST", "/dead-letters/discard", {"confirm": count})
        assert code == 200, answer


def good(room: str, message_id: str, user: str = "alice", age: float = 0) -> bytes:
    """A record in the form in which receive_* publishes it; its message was sent ``age`` seconds ago."""
    event = {
        "roomId": room,
        "messageId": message_id,
        "timestamp": now(seconds=-age),
        "userId": user,
        "username": user,
        "message": "a neighbour",
        "messageType": "TEXT",
        "sender": "a" * 12,
    }
    return Envelope("chat", "c-1", now(), [event]).encode()


def by_mark(found: dict[str, Any], poison: list[Poison]) -> dict[str, dict[str, Any]]:
    """Those of the found letters that are of ``poison``, by its marks."""
    return {
        one.mark.decode(): item
        for one in poison
        for item in found["items"]
        if one.mark.decode() in item["body"] or one.mark.decode() == item.get("correlationId")
    }


def reasons_by_mark(found: dict[str, Any], poison: list[Poison]) -> dict[str, str]:
    return {mark: item["reason"] for mark, item in by_mark(found, poison).items()}


def test_eight_kinds_of_poison_are_dead_in_seconds_with_their_reasons(
    platform: RunningStage, queues: Queues, operator: Client
) -> None:
    """P5."""
    began, room, reader = now(), unique("room"), Client(platform)
    poison = make(uuid.uuid4().int % 10**9, began)
    neighbours = [unique("m") for _ in range(len(poison) + 1)]

    bodies = [good(room, neighbours[0])]
    for one, neighbour in zip(poison, neighbours[1:], strict=True):
        # Invalid base64 can only arrive through SQS: RabbitMQ's mapping encodes the bodies itself.
        if one.encoding:
            queues.send(queues.retry, one.body.decode(), encoding=one.encoding)
        else:
            bodies.append(one.body)
        bodies.append(good(room, neighbour))
    queues.publish("persist.chat.0", *bodies)

    stored = reader.wait_for(room, len(neighbours))
    expected = {one.mark.decode(): one.reason for one in poison}
    recent = {"from": began}
    found = until(
        lambda: letters(operator, **recent), lambda answer: reasons_by_mark(answer, poison) == expected, SECONDS
    )
    assert {item["messageId"] for item in stored} == set(neighbours)
    assert all(item["firstFailedAt"] and item["attempts"] >= 5 for item in by_mark(found, poison).values())

    filtered = letters(operator, **recent, reason="newer_version")
    assert reasons_by_mark(filtered, poison).keys() == {
        one.mark.decode() for one in poison if one.reason == "newer_version"
    }
    assert by_mark(letters(operator, to=began), poison) == {}


def test_a_record_that_was_sent_again_more_often_than_lambda_lets_a_loop_run_is_stored(
    platform: RunningStage, queues: Queues
) -> None:
    """P6: a throttled record is sent to the queue that it came from, for up to a day."""
    room, header = unique("room"), ""
    for _ in range(MOST + 1):
        header = f"Lineage={lineage(header, 'PersistEvents')}"

    queues.send(queues.retry, good(room, "throttled-for-hours").decode(), trace=header)

    assert [item["messageId"] for item in Client(platform).wait_for(room, 1)] == ["throttled-for-hours"]
