"""Services for the local stage's tests: a shared broker, and an issuer of tokens."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pika
import pytest

from localstage.gateway import Issuer
from tests.contract.localstage.gateway.gateway_fakes import with_key
from tests.contract.rabbit import Rabbit


@pytest.fixture(scope="session")
def rabbitmq(rabbit: Rabbit) -> str:
    """The URL of a broker that the whole suite shares; every test uses its own queue names."""
    return rabbit.url


@pytest.fixture
def channel(rabbitmq: str) -> Iterator[pika.adapters.blocking_connection.BlockingChannel]:
    """A blocking channel with confirms on the shared broker."""
    with pika.BlockingConnection(pika.URLParameters(rabbitmq)) as connection:
        channel = connection.channel()
        channel.confirm_delivery()
        yield channel


@pytest.fixture
async def issuer(tmp_path: Path) -> AsyncIterator[Issuer]:
    made = Issuer(with_key(tmp_path))
    await made.start()
    yield made
    await made.stop()
