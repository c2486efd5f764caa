"""Runs the emulator of DynamoDB as the stage does: in a program of the tests, or as a process with a client."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError

from localstage.services.dynamodb import node_command
from localstage.services.ports import Ports

PROGRAMS = Path(__file__).parent
WRITERS = 6


def run(program: str, packages: Path, *arguments: object, **more: str) -> Any:
    """What a program prints in JSON that runs dynalite in its process, as the stage does.

    ``more`` are variables of the process.
    """
    node, variables = node_command(packages)
    command = [*node, PROGRAMS / program, *map(str, arguments)]
    process = subprocess.run(
        command, env={**os.environ, **variables, **more}, capture_output=True, text=True, timeout=60
    )
    assert process.returncode == 0, process.stderr
    return json.loads(process.stdout)


@contextmanager
def running(packages: Path, folder: Path, **more: str) -> Iterator[tuple[Any, subprocess.Popen[bytes]]]:
    """A client of an emulator with data in ``folder`` and ``more`` variables, and its process; killed at the end."""
    node, variables = node_command(packages)
    port = Ports(folder / "ports.json").take("dynamodb")
    options = ["--host", "127.0.0.1", "--port", str(port), "--path", str(folder / "data"), "--createTableMs", "0"]
    with (folder / "log").open("ab") as log:
        process = subprocess.Popen(
            [*node, packages / "dynalite" / "cli.js", *options],
            env={**os.environ, **variables, **more},
            stdout=log,
            stderr=log,
        )
    client: Any = boto3.client(
        "dynamodb",
        endpoint_url=f"http://127.0.0.1:{port}",
        region_name="us-east-1",
        aws_access_key_id="test",
        aws_secret_access_key="test",
        config=Config(retries={"total_max_attempts": 1}, max_pool_connections=WRITERS),
    )
    try:
        while True:
            try:
                client.list_tables()
                break
            except BotoCoreError:
                assert process.poll() is None, (folder / "log").read_text()
                time.sleep(0.02)
        yield client, process
    finally:
        process.kill()
        process.wait()
