"""P14: a receiver of webhooks gets what a whole stage stores, also if it failed, or was switched off."""

from __future__ import annotations

import base64
import hmac
import json
import signal
import time
from collections.abc import Iterator
from typing import Any

import boto3
import pytest

from loadtest.client.stage_template import write_template
from tests.contract.http_server import OK, HttpServer, Received, status
from tests.e2e.clients import PATIENCE, Client, unique, until
from tests.e2e.conftest import ROOT, RunningStage, fresh_stage
from tests.e2e.test_rooms import posted

TABLE = "headrace-local-WebhooksTable"
SHORT = [("WEBHOOK_OFF_PAUSE_SECONDS: 1800", "WEBHOOK_OFF_PAUSE_SECONDS: 1")]


class Receiver(HttpServer):
    """The operator's program, which keeps what it took by id. It answers first tries with ``broken``, if it is set."""

    def __init__(self) -> None:
        super().__init__()
        self.broken = b""
        self.refused: list[str] = []
        self.taken: dict[str, Received] = {}
        self.answer = self._answer

    def _answer(self, request: Received) -> bytes:
        id_ = request.headers["webhook-id"]
        if self.broken and id_ not in self.refused:
            self.refused.append(id_)
            return self.broken
        self.taken[id_] = request
        return OK

    def texts(self) -> set[str]:
        return {json.loads(each.body)["data"].get("message", "") for each in list(self.taken.values())}

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook"


@pytest.fixture(scope="module")
def receiver() -> Iterator[Receiver]:
    made = Receiver()
    yield made
    made.close()


@pytest.fixture(scope="module")
def stage(receiver: Receiver) -> Iterator[RunningStage]:
    folder = ROOT / ".local" / "e2e" / "webhooks-template"
    stage = fresh_stage("webhooks", write_template(folder, SHORT, {"WebhookUrl": receiver.url, "TellTypes": "chat"}))
    try:
        yield stage.wait_ready()
    finally:
        stage.stop(signal.SIGKILL)  # what it has is not used again


def key_of(stage: RunningStage) -> bytes:
    """The key that the operator gives the receiver."""

    def make(_service: str, **options: Any) -> Any:
        return boto3.client("secretsmanager", **options)

    secret = stage.aws("sqs", make).get_secret_value(SecretId="headrace-local-WebhookSecret")["SecretString"]
    return base64.b64decode(secret)


def verifies(request: Received, key: bytes) -> bool:
    id_, second = request.headers["webhook-id"], request.headers["webhook-timestamp"]
    digest = hmac.digest(key, f"{id_}.{second}.".encode() + request.body, "sha256")
    wanted = f"v1,{base64.b64encode(digest).decode()}"
    return abs(time.time() - int(second)) < 300 and wanted in request.headers["webhook-signature"].split(" ")


def test_each_stored_message_is_sent_and_verifies(stage: RunningStage, receiver: Receiver) -> None:
    alice, room = Client(stage, unique("alice")), unique("room")
    texts = {unique("text") for _ in range(30)}
    for text in texts:
        assert alice.http("POST", f"/rooms/{room}/messages", {"message": text})[0] == 202

    until(receiver.texts, lambda found: texts <= found, 3 * PATIENCE)
    item = posted(alice, room, last := unique("last"))
    until(receiver.texts, lambda found: last in found, PATIENCE)
    key = key_of(stage)
    assert all(verifies(each, key) for each in receiver.taken.values())
    (request,) = [each for each in receiver.taken.values() if last.encode() in each.body]
    body = json.loads(request.body)
    assert (body["type"], body["stream"], body["data"]) == ("message.stored", "chat", item)
    assert body["key"] == f"{room}#{item['key']}"
    assert body["timestamp"]
    assert int(body["sequence"])


def test_a_receiver_that_is_gone_gets_nothing_until_it_is_switched_on_and_everything_then(
    stage: RunningStage, receiver: Receiver
) -> None:
    alice, room, dynamodb = Client(stage, unique("alice")), unique("room"), stage.aws("dynamodb")
    row = {"TableName": TABLE, "Key": {"url": {"S": receiver.url}}}
    receiver.broken = status(410)
    texts = [unique("text") for _ in range(12)]
    assert alice.http("POST", f"/rooms/{room}/messages", {"message": texts[0]})[0] == 202
    until(lambda: dynamodb.get_item(**row).get("Item", {}), lambda item: "offSince" in item, 3 * PATIENCE)
    receiver.broken = b""
    for text in texts[1:]:
        posted(alice, room, text)
    time.sleep(2)  # longer than an event waits until it looks at the switch again
    assert not set(texts) & receiver.texts()

    dynamodb.delete_item(**row)

    until(receiver.texts, lambda found: set(texts) <= found, 3 * PATIENCE)
    assert "Item" not in dynamodb.get_item(**row)
