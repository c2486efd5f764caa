"""The status of a running stage, with and without its broker."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

from headrace.queues.names import persist_queues
from headrace.streams.probe import PROBE
from headrace.streams.registry import STREAMS
from localstage.core.tcp_proxy import TcpProxy
from tests.contract.rabbit import Rabbit
from tests.e2e.clients import WRITER, Client, unique, until
from tests.e2e.conftest import ROOT, RunningStage, fresh_stage

QUEUES = persist_queues({name: 1 for name in STREAMS if name != PROBE.name})
A_MINUTE_AND_MORE = 90.0


def status(operator: Client) -> dict[str, Any]:
    code, body, _ = operator.http("GET", "/status")
    assert code == 200, body
    found: dict[str, Any] = body
    return found


@pytest.fixture(scope="module")
def broker() -> Iterator[tuple[Rabbit, TcpProxy]]:
    """A broker that the stage did not start, behind a proxy that can cut it off."""
    rabbit = Rabbit()
    try:
        rabbit.start()
        proxy = TcpProxy(rabbit.port)
        yield rabbit, proxy
        proxy.close()
    finally:
        rabbit.remove()


@pytest.fixture(scope="module")
def stage(broker: tuple[Rabbit, TcpProxy]) -> Iterator[RunningStage]:
    """A stage on that broker."""
    rabbit, proxy = broker
    urls = {
        "LOCALSTAGE_RABBITMQ_URL": f"amqp://guest:guest@127.0.0.1:{proxy.port}",
        "LOCALSTAGE_RABBITMQ_CONSOLE_URL": rabbit.console_url,
    }
    stage = fresh_stage("broker-away", ROOT / "template.yaml", **urls)
    try:
        yield stage.wait_ready()
    finally:
        stage.stop()


def test_the_status_shows_lanes_depths_breakers_and_probes(platform: RunningStage) -> None:
    operator = Client(platform, None, "ops")

    found = until(lambda: status(operator), lambda body: body["lanes"]["main"]["state"] == "ok")

    assert found["accepting"] == "main"
    assert found["lanes"]["main"]["queues"].keys() == set(QUEUES)
    assert all(queue["consumers"] for queue in found["lanes"]["main"]["queues"].values())
    assert found["lanes"]["parked"] == {"state": "empty", "ready": 0}
    assert found["lanes"]["retry"].keys() == {"state", "waiting", "inFlight", "delayed"}
    assert found["lanes"]["dead"].keys() == {"state", "waiting", "inFlight", "delayed"}
    assert found["breakers"]["state"] in ("ok", "open")
    assert found["probes"]["queues"].keys() == set(QUEUES)


def test_only_operators_may_read_the_status(platform: RunningStage) -> None:
    """P12."""
    assert Client(platform).http("GET", "/status")[0] == 403
    anonymous = Client(platform)
    anonymous.token = ""
    assert anonymous.http("GET", "/status")[0] == 401


@pytest.mark.timeout(180)
def test_a_probe_passes_every_persist_queue_within_a_minute(platform: RunningStage) -> None:
    """P4."""
    operator = Client(platform, None, "ops")

    until(lambda: status(operator)["probes"]["state"], lambda state: state == "ok", A_MINUTE_AND_MORE)


@pytest.mark.timeout(300)
def test_without_a_broker_events_are_stored_and_the_status_shows_it(
    stage: RunningStage, broker: tuple[Rabbit, TcpProxy]
) -> None:
    """P1, P6: the broker is unavailable from the first event on; events take the retry lane."""
    _, proxy = broker
    proxy.to_server = lambda _: None
    proxy.cut()
    alice, operator, room = Client(stage, None, *WRITER), Client(stage, None, "ops"), unique("room")

    sent = [unique("m") for _ in range(30)]
    for start in range(0, len(sent), 10):
        events = [{"roomId": room, "message": "hello", "messageId": each} for each in sent[start : start + 10]]
        code, answer, _ = alice.http("POST", "/messages/batch", {"events": events})
        assert code == 202, answer
        assert {result["lane"] for result in answer["results"]} == {"retry"}

    assert {item["messageId"] for item in alice.wait_for(room, len(sent))} == set(sent)
    found = until(lambda: status(operator), lambda body: body["lanes"]["main"]["state"] == "away")
    assert found["accepting"] == "retry"
    assert "reason" in found["lanes"]["main"]
    assert found["lanes"]["dead"]["state"] == "empty"
    # A frozen environment reports its breaker's state at its next request.
    opened = until(
        lambda: (send_one(alice, room), status(operator)["breakers"])[1], lambda breakers: breakers["state"] == "open"
    )
    assert {each["breaker"] for each in opened["environments"]} == {"broker"}
    assert stage.process.poll() is None, "the stage ended without its broker"
    assert not broker_is_healthy(stage)

    proxy.pass_all()

    until(lambda: status(operator)["accepting"], lambda lane: lane == "main")
    until(lambda: send_one(alice, room), lambda lane: lane == "main")
    assert broker_is_healthy(stage)


def broker_is_healthy(stage: RunningStage) -> bool:
    """Whether the stage's status reports the broker, which it did not start, as healthy."""
    with urllib.request.urlopen(stage.where["status_url"], timeout=10) as answer:
        services = {each["name"]: each for each in json.load(answer)["services"]}
    assert services["RabbitMQ"]["pid"] is None
    return bool(services["RabbitMQ"]["healthy"])


def send_one(client: Client, room: str) -> str:
    code, answer, _ = client.http("POST", f"/rooms/{room}/messages", {"message": "hello", "messageId": unique("m")})
    assert code == 202, answer
    return str(answer["results"][0]["lane"])
