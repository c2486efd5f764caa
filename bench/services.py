"""RabbitMQ, Redis and the emulators for a benchmark: started as the local stage starts them, with empty data."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from bench.emulators import processes
from localstage.services import Endpoints, Services, install

STATE = Path(__file__).resolve().parent.parent / ".local" / "bench"


@asynccontextmanager
async def running() -> AsyncIterator[Endpoints]:
    """Start them, and point this process's AWS clients to the emulators."""
    # Data of earlier runs would change the measurement. Installed packages are kept.
    shutil.rmtree(STATE / "services", ignore_errors=True)
    environ = {name: value for name, value in os.environ.items() if not name.startswith("LOCALSTAGE_")}
    services = Services(STATE, broker_username="bench", broker_password="bench", environ=environ)
    endpoints = await services.start()
    os.environ.update(
        AWS_DEFAULT_REGION="us-east-1",
        AWS_ACCESS_KEY_ID="000000000000",
        AWS_SECRET_ACCESS_KEY="bench",
        AWS_EC2_METADATA_DISABLED="true",
        AWS_ENDPOINT_URL_DYNAMODB=endpoints.dynamodb_url,
        AWS_ENDPOINT_URL_SQS=endpoints.sqs_url,
        AWS_ENDPOINT_URL_SECRETS_MANAGER=endpoints.secrets_manager_url,
    )
    try:
        yield endpoints
    finally:
        await services.stop()


@dataclass(frozen=True)
class Database:
    """A DynamoDB emulator with its process, and a Redis; both are empty."""

    port: int
    cache_port: int
    process: psutil.Process


@contextmanager
def database(name: str = "dynalite, memory", **variables: str) -> Iterator[Database]:
    """Start the emulator ``name`` and a Redis; point this process's AWS clients to it, and set ``variables``."""
    emulator = next(each for each in processes.candidates() if each.name == name)
    port = processes.free_port()
    os.environ.update(
        AWS_DEFAULT_REGION="us-east-1",
        AWS_ACCESS_KEY_ID="bench",
        AWS_SECRET_ACCESS_KEY="bench",
        AWS_EC2_METADATA_DISABLED="true",
        AWS_ENDPOINT_URL_DYNAMODB=f"http://127.0.0.1:{port}",
        **variables,
    )
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data"
        data.mkdir()
        with processes.running(emulator, port, data) as process, _redis(data) as cache_port:
            yield Database(port, cache_port, process)


@contextmanager
def _redis(folder: Path) -> Iterator[int]:
    """Run a separate Redis; yields its port."""
    program = asyncio.run(install.ensure_programs([install.REDIS], os.environ))[install.REDIS]
    port = processes.free_port()
    options = ["--port", str(port), "--bind", "127.0.0.1", "--dir", str(folder), "--save", ""]
    process = subprocess.Popen([program, *options], stdout=subprocess.DEVNULL)
    try:
        yield port
    finally:
        process.kill()
        process.wait()
