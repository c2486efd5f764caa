"""P14: an operator's queue is told what a whole stage stores, also if the queue was away."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from loadtest.client.stage_template import write_template
from localstage.template.attributes import ACCOUNT
from tests.e2e.clients import PATIENCE, Client, unique, until
from tests.e2e.conftest import ROOT, RunningStage, fresh_stage
from tests.e2e.test_changes import path, posted, shown
from tests.worlds.ski_world import ride

TARGET = f"arn:aws:sqs:us-east-1:{ACCOUNT}:told.fifo"
TYPES = "chat,ride.stored,click.taken-back"


class Queue:
    """The operator's queue, and all that was told so far: in order of receiving, without repeats."""

    def __init__(self, stage: RunningStage) -> None:
        self._sqs = stage.aws("sqs")
        self._url = f"{self._sqs.meta.endpoint_url}/{ACCOUNT}/told.fifo"
        self._told: dict[str, dict[str, Any]] = {}

    def make(self) -> None:
        self._sqs.create_queue(QueueName="told.fifo", Attributes={"FifoQueue": "true"})

    def told(self) -> list[dict[str, Any]]:
        while found := self._sqs.receive_message(QueueUrl=self._url, MaxNumberOfMessages=10).get("Messages"):
            for each in found:
                event = json.loads(each["Body"])
                self._told.setdefault(event["id"], event)
                self._sqs.delete_message(QueueUrl=self._url, ReceiptHandle=each["ReceiptHandle"])
        return list(self._told.values())

    def types(self) -> list[str]:
        return [each["type"] for each in self.told()]


@pytest.fixture(scope="module")
def stage() -> Iterator[RunningStage]:
    parameters = {"TellTarget": TARGET, "TellTypes": TYPES}
    stage = fresh_stage("telling", write_template(ROOT / ".local" / "e2e" / "telling-template", (), parameters))
    try:
        yield stage.wait_ready()
    finally:
        stage.stop()


def test_a_queue_is_told_of_everything_that_it_wants_in_order_once_it_is_there(stage: RunningStage) -> None:
    """Until then nothing else waits."""
    alice, importer, room = Client(stage, unique("alice")), Client(stage, None, "events:write"), unique("room")
    item = posted(alice, room, "helo")
    assert alice.http("PATCH", path(item), {"message": "hello"})[0] == 202
    edited = shown(alice, item, "editedAt")
    click = {"adId": "ad", "userId": "u", "adType": "banner", "clickedAt": item["timestamp"], "clickId": "c"}
    assert importer.http("POST", "/resorts/7/seasons", {"year": "2025"})[0] == 201
    assert importer.http("POST", "/clicks/batch", {"events": [click]})[0] == 202
    assert importer.http("POST", "/lift-rides/batch", {"events": [ride(rideID="r")]})[0] == 202
    queue = Queue(stage)
    queue.make()

    wanted = {"message.stored", "message.edited", "ride.stored"}
    until(queue.types, lambda types: set(types) == wanted, 3 * PATIENCE)
    assert importer.http("POST", "/clicks/take-back", {"events": [click]})[0] == 202
    assert importer.http("POST", "/lift-rides/take-back", {"events": [ride(rideID="r")]})[0] == 202
    assert alice.http("DELETE", path(item))[0] == 202
    until(queue.types, lambda types: {"message.deleted", "click.taken-back"} <= set(types), 3 * PATIENCE)
    told = queue.told()

    messages = [each for each in told if each["stream"] == "chat"]
    assert [each["type"] for each in messages if each["type"] != "message.edited"] == [
        "message.stored",
        "message.deleted",
    ]
    assert {each["key"] for each in messages} == {f"{room}#{item['key']}"}
    assert messages[0]["data"] == item
    assert messages[1]["data"] == edited
    assert [int(each["sequence"]) for each in messages] == sorted(int(each["sequence"]) for each in messages)
    assert {each["stage"] for each in told} == {"headrace-local"}
    (ride_told,) = [each for each in told if each["stream"] == "ski"]
    assert ride_told["data"] == ride(rideID="r")
    (clicked,) = [each for each in told if each["stream"] == "ads"]
    assert (clicked["type"], clicked["data"]) == ("click.taken-back", {"clickId": "c"})


def test_what_is_stored_is_told_within_two_seconds(stage: RunningStage) -> None:
    alice, room, queue = Client(stage, unique("alice")), unique("room"), Queue(stage)
    posted(alice, room, "first")
    until(queue.told, lambda told: any(room in each["key"] for each in told))

    began = time.monotonic()
    item = posted(alice, room, "second")
    until(queue.told, lambda told: any(each["data"].get("key") == item["key"] for each in told), 2)

    assert time.monotonic() - began < PATIENCE
