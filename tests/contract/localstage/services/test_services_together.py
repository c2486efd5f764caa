"""The stage's RabbitMQ, Redis, DynamoDB and SQS start, retain accepted data and leave no process behind."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import boto3
import pika
import psutil
import pytest
import redis

from localstage.core.errors import ServiceError
from localstage.services import Endpoints, Services, external_services, install

ROOT = Path(__file__).resolve().parents[4]
USER, PASSWORD = "headrace", 'se"cr\\et #1'


@pytest.fixture
async def state(tmp_path: Path) -> Path:
    """A state folder without data; downloaded programs are shared with the ``.local`` of this clone."""
    await install.ensure_node_packages(ROOT / ".local")
    await install.ensure_ministack(ROOT / ".local")
    for name in ("node", "ministack"):
        (tmp_path / name).symlink_to(ROOT / ".local" / name)
    return tmp_path


@pytest.fixture
async def services(state: Path) -> AsyncIterator[Callable[[], Services]]:
    """Makes services on one state folder; all are stopped at the end."""
    made: list[Services] = []

    def make() -> Services:
        made.append(Services(state, broker_username=USER, broker_password=PASSWORD, environ=os.environ))
        return made[-1]

    yield make
    for each in made:
        await each.stop()


def channel(url: str) -> Any:
    parameters = pika.URLParameters(url)
    parameters.credentials = pika.PlainCredentials(USER, PASSWORD)
    return pika.BlockingConnection(parameters).channel()


def client(service: str, url: str) -> Any:
    return boto3.client(
        service, endpoint_url=url, region_name="us-east-1", aws_access_key_id="a", aws_secret_access_key="b"
    )


def publish_and_confirm(url: str) -> None:
    publisher = channel(url)
    publisher.queue_declare("kept", durable=True, arguments={"x-queue-type": "quorum"})
    publisher.confirm_delivery()
    publisher.basic_publish("", "kept", b"accepted", pika.BasicProperties(delivery_mode=2), mandatory=True)
    # RabbitMQ 4.0 may write the outcome of a declaration 2 s later, or with the next one: before, a kill loses it.
    publisher.queue_declare("next", durable=True)
    publisher.connection.close()


def take(url: str) -> bytes | None:
    consumer = channel(url)
    _, _, body = consumer.basic_get("kept", auto_ack=True)
    consumer.connection.close()
    return body


def refuses_keys_of_two_slots(endpoints: Endpoints) -> bool:
    with redis.Redis.from_url(f"redis://{endpoints.cache_endpoint}") as node:
        node.set("a", 1)
        try:
            node.mget("a", "b")
        except redis.exceptions.ClusterCrossSlotError:
            return True
    return False


async def refuses_strangers(cache_endpoint: str) -> None:
    """The cache answers no other user of the machine, who cannot read its password."""
    address = cache_endpoint.rpartition("@")[2]
    with pytest.raises(ServiceError, match="NOAUTH"):
        await external_services.check_redis(f"redis://{address}")
    with pytest.raises(ServiceError, match="WRONGPASS"):
        await external_services.check_redis(f"redis://:guessed@{address}")
    assert await external_services.check_redis(f"redis://{cache_endpoint}") == cache_endpoint


async def until_the_queue_is_registered(state: Path) -> None:
    """Wait until RabbitMQ has stored a new queue's name, up to half a second after the declaration."""
    names = next((state / "services/rabbitmq/data").glob("*/quorum/*/names.dets"))
    while b"kept" not in names.read_bytes():  # noqa: ASYNC110 - a file has no event for us
        await asyncio.sleep(0.02)


async def until_gone(pids: list[int]) -> None:
    while any(psutil.pid_exists(pid) for pid in pids):  # noqa: ASYNC110 - the kernel has no event for us
        await asyncio.sleep(0.02)


async def kill_the_cache_on_purpose(running: Services) -> None:
    """It starts again on its port."""
    before = running.started("Redis").process
    with pytest.raises(ServiceError, match="no service 'Kafka' to kill; the stage started: "):
        running.kill("Kafka", 0)
    assert running.kill("Redis", 0) == "Redis"
    with pytest.raises(ServiceError, match="Redis is killed already"):
        running.kill("Redis", 0)
    while (cache := running.started("Redis")).process is before or not await cache.healthy():  # noqa: ASYNC110
        await asyncio.sleep(0.02)


async def test_the_stage_outlives_a_kill_on_purpose_and_accepted_data_any_kill_of_the_broker(
    state: Path,
    services: Callable[[], Services],
) -> None:
    first = services()
    endpoints = await first.start()
    status = await first.status()
    assert [line for line in status if not line.healthy] == []
    assert await asyncio.to_thread(refuses_keys_of_two_slots, endpoints)
    await refuses_strangers(endpoints.cache_endpoint)
    with pytest.raises(ServiceError, match="refuses the user"):
        await external_services.check_rabbitmq(endpoints.amqp_url, USER, "another")
    await asyncio.to_thread(publish_and_confirm, endpoints.amqp_url)
    await until_the_queue_is_registered(state)

    watching = asyncio.create_task(first.watch())
    await kill_the_cache_on_purpose(first)
    assert await asyncio.to_thread(refuses_keys_of_two_slots, endpoints)
    assert not watching.done(), "the stage did not continue"

    broker = next(line.pid for line in status if line.name == "RabbitMQ")
    assert broker is not None
    os.kill(broker, signal.SIGKILL)
    with pytest.raises(ServiceError, match=r"RabbitMQ ended unexpectedly \(SIGKILL\)"):
        await watching
    await first.stop()
    await first.stop()
    await until_gone([line.pid for line in status if line.pid])

    second = services()
    assert await second.start() == endpoints
    assert await asyncio.to_thread(take, endpoints.amqp_url) == b"accepted"
    await second.stop()
