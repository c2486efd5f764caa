"""P14: webhooks from a real queue, with their switch in a real table, to a real receiver."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from ipaddress import ip_network
from typing import Any

import pytest

from headrace.core.times import SECOND
from headrace.features.tell.posts import Posts
from headrace.features.tell.switch import Switch, SwitchState
from headrace.features.tell.webhooks import OffRule, Webhooks
from headrace.queues.sqs import RetryLane
from headrace.runtime.aws import client
from tests.contract.emulators import sdk
from tests.contract.http_server import OK, HttpServer
from tests.contract.tables import described, made
from tests.fakes.clock import FixedClock
from tests.fakes.tell import MemorySwitch

NOW = 1_763_719_259 * SECOND
URL = "https://receiver.example/"
TABLE = described("Webhooks", "url")


@pytest.fixture
def switch(dynalite: str) -> Iterator[Switch]:
    with made(TABLE):
        yield Switch(client("dynamodb", timeout=30), "Webhooks", URL)


def test_failures_are_counted_from_the_first_one_until_one_success(switch: Switch) -> None:
    assert switch.state() == SwitchState()
    assert switch.failed(3, "HTTP 500", NOW) == SwitchState(3, NOW)
    assert switch.failed(2, "no answer", NOW + SECOND) == switch.state() == SwitchState(5, NOW)

    switch.recovered()
    assert switch.state() == SwitchState()
    assert switch.failed(1, "HTTP 500", NOW + SECOND) == SwitchState(1, NOW + SECOND)


def test_a_receiver_that_is_off_stays_so_until_its_row_is_deleted(switch: Switch) -> None:
    switch.failed(1, "HTTP 410", NOW)
    switch.turn_off(NOW)
    switch.recovered()
    assert switch.state() == switch.failed(0, "HTTP 410", NOW) == SwitchState(1, NOW, is_off=True)
    other = Switch(client("dynamodb", timeout=30), "Webhooks", "https://other.example/")
    assert other.state() == SwitchState()
    assert Switch(client("dynamodb", timeout=30), "Webhooks", "").state() == SwitchState()

    sdk("dynamodb").delete_item(TableName="Webhooks", Key={"url": {"S": URL}})
    assert switch.state() == SwitchState()


def test_what_fails_is_hidden_in_its_queue_and_what_has_ended_is_a_dead_letter(ministack: str) -> None:
    sqs, own, receiver = sdk("sqs"), client("sqs", timeout=30), HttpServer()
    urls = [sqs.create_queue(QueueName=name)["QueueUrl"] for name in ("Webhooks", "DeadWebhooks")]
    later = b"HTTP/1.1 503 Later\r\nRetry-After: 9\r\nContent-Length: 0\r\n\r\n"
    receiver.answer = lambda request: OK if request.headers["webhook-id"] == "good" else later
    posts = Posts(
        f"http://127.0.0.1:{receiver.port}", [ip_network("127.0.0.0/8")], lambda: ["a" * 64], clock := FixedClock(NOW)
    )
    lanes = [RetryLane(url, own) for url in urls]
    webhooks = Webhooks(posts, MemorySwitch(), *lanes, OffRule(20, 43200, 1800), clock)
    for id_ in ("good", "bad", "old"):
        sqs.send_message(QueueUrl=urls[0], MessageBody=json.dumps({"id": id_, "type": "t", "time": "now", "data": {}}))

    records = [record(each) for each in received(sqs, urls[0], hidden=3)]
    failures = webhooks.send({"Records": records}, "i-1")["batchItemFailures"]
    for each in records:
        if {"itemIdentifier": each["messageId"]} not in failures:
            sqs.delete_message(QueueUrl=urls[0], ReceiptHandle=each["receiptHandle"])

    (letter,) = received(sqs, urls[1])
    assert json.loads(letter["Body"])["id"] == "old"
    assert letter["MessageAttributes"]["reason"]["StringValue"] == "HTTP 503"
    time.sleep(4)  # longer than they were hidden at first
    assert received(sqs, urls[0]) == []
    (again,) = received(sqs, urls[0], wait=15)
    assert json.loads(again["Body"])["id"] == "bad"
    assert again["Attributes"]["ApproximateReceiveCount"] == "2"
    posts.close()
    receiver.close()
    for url in urls:
        sqs.delete_queue(QueueUrl=url)


def received(sqs: Any, url: str, hidden: int = 60, wait: int = 0) -> list[dict[str, Any]]:
    options = {"VisibilityTimeout": hidden, "WaitTimeSeconds": wait, "MaxNumberOfMessages": 10}
    names = {"MessageAttributeNames": ["All"], "MessageSystemAttributeNames": ["All"]}
    found: list[dict[str, Any]] = sqs.receive_message(QueueUrl=url, **options, **names).get("Messages", [])
    return found


def record(message: dict[str, Any]) -> dict[str, Any]:
    """A message as the mapping gives it: of two days ago if it is the old one, else of now."""
    at = NOW - 200_000 * SECOND if '"old"' in message["Body"] else NOW
    attributes = {"SentTimestamp": str(at // 1000)}
    names = {"messageId": message["MessageId"], "receiptHandle": message["ReceiptHandle"], "body": message["Body"]}
    return {**names, "attributes": attributes}
