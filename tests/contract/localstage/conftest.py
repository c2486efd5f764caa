"""Services that the suites of the stage share, and brokers that a test may kill."""

from __future__ import annotations

from collections.abc import Iterator

import pika
import pytest

from tests.contract.localstage.local_services import MotoServer, RabbitServer


@pytest.fixture(scope="session")
def rabbitmq(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a broker that the whole suite shares; every test uses its own queue names."""
    server = RabbitServer(tmp_path_factory.mktemp("rabbitmq"))
    server.start()
    yield server.url
    server.close()


@pytest.fixture(scope="module")
def own_rabbitmq(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RabbitServer]:
    """A broker that a test may kill and start again."""
    server = RabbitServer(tmp_path_factory.mktemp("own_rabbitmq"))
    server.start()
    yield server
    server.close()


@pytest.fixture
def channel(rabbitmq: str) -> Iterator[pika.adapters.blocking_connection.BlockingChannel]:
    """A blocking channel with confirms on the shared broker, to prepare and to look."""
    with pika.BlockingConnection(pika.URLParameters(rabbitmq)) as connection:
        channel = connection.channel()
        channel.confirm_delivery()
        yield channel


@pytest.fixture(scope="session")
def sqs_endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of an SQS emulator that the whole suite shares; every test uses its own queue names."""
    server = MotoServer(tmp_path_factory.mktemp("moto"))
    server.start()
    yield server.url
    server.close()
