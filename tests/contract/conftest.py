"""Real services for the contract suites, started once per run and only when a test needs them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator

import pytest
from moto.server import ThreadedMotoServer

from headrace.storage import redis
from tests.contract.emulators import Emulators, function_environment
from tests.contract.played_store import Played
from tests.contract.rabbit import PATIENT, Rabbit, declared_broker, running_rabbit
from tests.contract.redis_node import RedisNode

__all__ = ["declared_broker"]


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redis, "CALL_SECONDS", PATIENT)


@pytest.fixture(scope="session")
def rabbit() -> Iterator[Rabbit]:
    with running_rabbit() as broker:
        yield broker


@pytest.fixture(scope="session")
def moto_url() -> Iterator[str]:
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture(scope="session")
def emulators(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Emulators]:
    emulators = Emulators(tmp_path_factory.mktemp("emulators"))
    try:
        emulators.start()
        yield emulators
    finally:
        emulators.stop()


@pytest.fixture(scope="session")
def redis_node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisNode]:
    """A cache that a test starts and may kill."""
    node = RedisNode(tmp_path_factory.mktemp("redis"))
    try:
        yield node
    finally:
        node.kill()


@pytest.fixture
def aws(moto_url: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The environment of a function whose AWS is moto; returns moto's URL."""
    return function_environment(monkeypatch, moto_url)


@pytest.fixture
def dynalite(emulators: Emulators, monkeypatch: pytest.MonkeyPatch) -> str:
    """The environment of a function whose AWS is the local stage's DynamoDB; returns its URL."""
    return function_environment(monkeypatch, emulators.dynamodb_url)


@pytest.fixture
def ministack(emulators: Emulators, monkeypatch: pytest.MonkeyPatch) -> str:
    """The environment of a function whose AWS is the local stage's SQS and another DynamoDB; returns its URL."""
    return function_environment(monkeypatch, emulators.sqs_url)


@pytest.fixture
def played(aws: str) -> Callable[..., Played]:
    """Makes stores with scripted responses; other calls go to moto."""
    return Played
