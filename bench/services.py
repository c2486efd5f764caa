"""RabbitMQ, Redis and the emulators for a benchmark, with empty data, and the tables of ``template.yaml``."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Collection, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
import pika
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from bench import ROOT
from localstage.services import Endpoints, Services, install, programs
from localstage.services.dynamodb import node_command
from localstage.template.document import parse

STATE = ROOT / ".local" / "bench"
AWS = {
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_ACCESS_KEY_ID": "000000000000",
    "AWS_SECRET_ACCESS_KEY": "bench",
    "AWS_EC2_METADATA_DISABLED": "true",
}


@asynccontextmanager
async def running() -> AsyncIterator[Endpoints]:
    """Start all services as the local stage does, and point this process's AWS clients to the emulators."""
    # Data of earlier runs would change the measurement. Installed packages are kept.
    shutil.rmtree(STATE / "services", ignore_errors=True)
    environ = {name: value for name, value in os.environ.items() if not name.startswith("LOCALSTAGE_")}
    services = Services(STATE, broker_username="bench", broker_password="bench", environ=environ)
    endpoints = await services.start()
    os.environ.update(
        AWS,
        AWS_ENDPOINT_URL_DYNAMODB=endpoints.dynamodb_url,
        AWS_ENDPOINT_URL_SQS=endpoints.sqs_url,
        AWS_ENDPOINT_URL_SECRETS_MANAGER=endpoints.secrets_manager_url,
    )
    try:
        yield endpoints
    finally:
        await services.stop()


def broker_parameters(url: str, username: str, password: str) -> pika.URLParameters:
    """The address of a broker with credentials, as pika connects to it."""
    found = pika.URLParameters(url)
    found.credentials = pika.PlainCredentials(username, password)
    return found


@dataclass(frozen=True)
class Database:
    """A dynalite and a Redis, by their ports; both are empty."""

    port: int
    cache_port: int

    @property
    def url(self) -> str:
        """The address of the dynalite."""
        return f"http://127.0.0.1:{self.port}"

    def client(self) -> Any:
        """boto3's client of DynamoDB for it."""
        config = Config(retries={"total_max_attempts": 1}, read_timeout=60, max_pool_connections=8)
        return boto3.client("dynamodb", endpoint_url=self.url, config=config)


def redis_cache(port: int) -> Any:
    """Headrace's cache in a Redis. A long timeout: other work on this machine must not turn a hit into a miss."""
    from headrace.runtime.settings import CacheSettings
    from headrace.storage.redis import Cache, connect

    settings = CacheSettings(cache_endpoint=f"127.0.0.1:{port}")
    return Cache(lambda: connect(settings, 5.0))


def create_table(dynamodb: Any, name: str, indexes: Collection[str] | None = None, suffix: str = "") -> str:
    """Create the table ``name`` of ``template.yaml``, with all its indexes or these; returns name and suffix."""
    path = ROOT / "template.yaml"
    found = parse(path.read_text(), path)["Resources"][f"{name}Table"]["Properties"]
    kept = [
        {key: each[key] for key in ("IndexName", "KeySchema", "Projection")}
        for each in found.get("GlobalSecondaryIndexes", ())
        if indexes is None or each["IndexName"] in indexes
    ]
    keys = {key["AttributeName"] for each in [found, *kept] for key in each["KeySchema"]}
    dynamodb.create_table(
        TableName=name + suffix,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[each for each in found["AttributeDefinitions"] if each["AttributeName"] in keys],
        KeySchema=found["KeySchema"],
        **({"GlobalSecondaryIndexes": kept} if kept else {}),
    )
    return name + suffix


@contextmanager
def database(*, of_the_stage: bool = False, **variables: str) -> Iterator[Database]:
    """Start a dynalite and a Redis; point this process's AWS clients to the dynalite, and set ``variables``.

    The dynalite has its data in memory, or with ``of_the_stage`` on disk.
    """
    packages = asyncio.run(install.ensure_node_packages(ROOT / ".local"))
    program = asyncio.run(programs.ensure_programs([programs.REDIS], os.environ))[programs.REDIS]
    port, cache_port = _free_port(), _free_port()
    os.environ.update(AWS, AWS_ENDPOINT_URL_DYNAMODB=f"http://127.0.0.1:{port}", **variables)
    with tempfile.TemporaryDirectory() as folder:
        node, environment = node_command(packages)
        place = ["--path", f"{folder}/data"] if of_the_stage else []
        options = f"--host 127.0.0.1 --port {port} --createTableMs 0".split()
        dynalite: list[str | Path] = [*node, packages / "dynalite" / "cli.js", *options, *place]
        redis: list[str | Path] = [program, *f"--port {cache_port} --bind 127.0.0.1 --dir {folder} --save".split(), ""]
        with _process(dynalite, environment) as process, _process(redis, {}):
            found = Database(port, cache_port)
            _wait(found, process)
            yield found


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def _process(command: list[str | Path], variables: dict[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    words = [str(part) for part in command]
    silent = subprocess.DEVNULL
    with subprocess.Popen(words, env=os.environ | variables, stdout=silent, stderr=silent) as process:
        try:
            yield process
        finally:
            process.kill()


def _wait(found: Database, process: subprocess.Popen[bytes]) -> None:
    """Wait until the dynalite answers."""
    while True:
        try:
            found.client().list_tables()
            return
        except (BotoCoreError, ClientError):
            if process.poll() is not None:
                raise SystemExit("headrace: dynalite did not start") from None
            time.sleep(0.02)
