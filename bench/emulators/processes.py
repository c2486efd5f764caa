"""The emulators to choose from, each in its process, and clients for them."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import boto3
import psutil
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from bench.emulators.report import OF_THE_STAGE, ON_DISK
from localstage.services import install
from localstage.services.dynamodb import node_command

ROOT = Path(__file__).resolve().parents[2]


@dataclass
class Emulator:
    """How to start one candidate; ``{port}`` and ``{data}`` are filled in."""

    name: str
    command: list[str]
    environment: dict[str, str] = field(default_factory=dict)
    sqs: bool = False


def client(service: str, port: int) -> Any:
    make: Any = boto3.client
    return make(
        service,
        endpoint_url=f"http://127.0.0.1:{port}",
        region_name="us-east-1",
        aws_access_key_id="local",
        aws_secret_access_key="local",
        config=Config(retries={"total_max_attempts": 1}, read_timeout=60, max_pool_connections=8),
    )


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def running(emulator: Emulator, port: int, data: Path) -> Iterator[psutil.Process]:
    """Run the candidate; its process group is killed at the end."""
    places = {"port": str(port), "data": str(data)}
    environment = os.environ | {key: value.format(**places) for key, value in emulator.environment.items()}
    with (data.parent / "log").open("ab") as log:
        process = subprocess.Popen(
            [part.format(**places) for part in emulator.command],
            env=environment,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    try:
        database = client("dynamodb", port)
        while True:
            try:
                database.list_tables()
                break
            except (BotoCoreError, ClientError) as error:
                if process.poll() is not None:
                    raise SystemExit(f"{emulator.name} did not start: {(data.parent / 'log').read_text()}") from error
                time.sleep(0.02)
        yield psutil.Process(process.pid)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@contextmanager
def in_memory() -> Iterator[int]:
    """Run a dynalite with its data in memory, and set credentials for it; yields its port."""
    os.environ.update(AWS_DEFAULT_REGION="us-east-1", AWS_ACCESS_KEY_ID="bench", AWS_SECRET_ACCESS_KEY="bench")
    emulator = next(each for each in candidates() if each.name == "dynalite, memory")
    port = free_port()
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data"
        data.mkdir()
        with running(emulator, port, data):
            yield port


def candidates() -> list[Emulator]:
    packages = asyncio.run(install.ensure_node_packages(ROOT / ".local"))
    arguments = [
        str(packages / "dynalite" / "cli.js"),
        "--host",
        "127.0.0.1",
        "--port",
        "{port}",
        "--createTableMs",
        "0",
    ]
    dynalite = [str(install.node_program()), *arguments]
    of_the_stage, variables = node_command(packages)
    ministack = [str(asyncio.run(install.ensure_ministack(ROOT / ".local"))), "-m", "ministack"]
    settings = {"GATEWAY_PORT": "{port}", "BIND_HOST": "127.0.0.1", "LOG_LEVEL": "WARNING"}
    stored = settings | {"PERSIST_STATE": "1", "STATE_DIR": "{data}"}
    return [
        Emulator("dynalite, memory", dynalite),
        Emulator(ON_DISK, [*dynalite, "--path", "{data}"]),
        Emulator(OF_THE_STAGE, [*map(str, of_the_stage), *arguments, "--path", "{data}"], variables),
        Emulator("MiniStack", ministack, settings, True),
        Emulator("MiniStack, PERSIST_STATE", ministack, stored, True),
        Emulator("moto server", [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", "{port}"], sqs=True),
    ]
