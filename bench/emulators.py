"""Compares emulators of DynamoDB and SQS on this machine: ``python -m bench.emulators --items 100000``.

dynalite and MiniStack are installed into ``.local/`` as the stage does it, moto is in ``.venv``. A candidate that
needs more than ``--budget`` seconds for its items is stopped, and the table shows how many it wrote.
"""

from __future__ import annotations

import argparse
import asyncio
import http.client
import json
import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Any

import boto3
import psutil
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from bench import ROOT
from bench import emulator_checks as checks
from bench import emulator_checks_sqs as checks_sqs
from bench.emulator_report import OF_THE_STAGE, ON_DISK, Result, numbers, report
from bench.suite import rounds as bench_rounds
from localstage.services import install
from localstage.services.dynamodb import node_command

BATCH = 25
HEADERS = {
    "Authorization": "AWS4-HMAC-SHA256 Credential=local/20261123/us-east-1/dynamodb/aws4_request, "
    "SignedHeaders=host, Signature=0",
    "Content-Type": "application/x-amz-json-1.0",
    "X-Amz-Date": "20261123T000000Z",
    "X-Amz-Target": "DynamoDB_20120810.BatchWriteItem",
}
"""Of a write. No emulator checks signatures, and boto3 would need more CPU for a write than most of them."""


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


def family(process: psutil.Process) -> list[psutil.Process]:
    return [process, *process.children(recursive=True)]


def cpu(process: psutil.Process) -> float:
    return sum(sum(member.cpu_times()[:2]) for member in family(process))


def write(port: int, numbers: range, threads: int, budget: float) -> int:
    """Write the numbered messages in batches of 25; returns how many were written within ``budget`` seconds."""
    batches = iter([numbers[at : at + BATCH] for at in range(0, len(numbers), BATCH)])
    lock = threading.Lock()
    written = 0
    deadline = time.monotonic() + budget

    def work() -> None:
        nonlocal written
        connection = http.client.HTTPConnection("127.0.0.1", port)
        while time.monotonic() < deadline:
            with lock:
                batch = next(batches, None)
            if batch is None:
                break
            request = {"Chat": checks.puts([checks.chat_item(number) for number in batch])}
            while request:
                connection.request("POST", "/", json.dumps({"RequestItems": request}), HEADERS)
                response = connection.getresponse()
                answer = json.load(response)
                if response.status != HTTPStatus.OK:
                    raise SystemExit(f"a write was refused: {answer}")
                request = answer.get("UnprocessedItems")
            with lock:
                written += len(batch)
        connection.close()

    workers = [threading.Thread(target=work) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return written


def newest(database: Any) -> tuple[float, float]:
    """Return the median times in ms of a Query for the 20 newest messages of a room, and of a user by index."""
    return _query(database, "roomId", "room-{}"), _query(database, "userId", "user-{}", IndexName="UserIndex")


def _query(database: Any, key: str, value: str, repeat: int = 40, **index: str) -> float:
    times = []
    for number in range(repeat):
        start = time.perf_counter()
        database.query(
            TableName="Chat",
            KeyConditionExpression=f"{key} = :v",
            ExpressionAttributeValues={":v": {"S": value.format(number * 5)}},
            ScanIndexForward=False,
            Limit=20,
            **index,
        )
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1000


def measure(emulator: Emulator, result: Result, options: argparse.Namespace, folder: Path) -> None:
    port = free_port()
    began = time.perf_counter()
    with running(emulator, port, folder) as process:
        result.start = time.perf_counter() - began
        database = client("dynamodb", port)
        database.create_table(TableName="Chat", **checks.CHAT_TABLE)
        database.get_waiter("table_exists").wait(TableName="Chat", WaiterConfig={"Delay": 1})
        first = write(port, range(1000), options.threads, options.budget)
        result.latency[first] = newest(database)
        used, began = cpu(process), time.perf_counter()
        result.items = write(port, range(1000, options.items), options.threads, options.budget)
        result.seconds = time.perf_counter() - began
        result.server_cpu = cpu(process) - used
        result.latency[first + result.items] = newest(database)
        result.memory = sum(member.memory_info().rss for member in family(process))
        result.wrong = checks.run(checks.DYNAMODB, database, "Chat")
        if emulator.sqs:
            result.wrong |= checks.run(checks_sqs.SQS, client("sqs", port), "check")


def survive(emulator: Emulator, result: Result, folder: Path) -> None:
    """Write, kill the emulator (-9), start it again, and count what is left of the acknowledged items."""
    port = free_port()
    with running(emulator, port, folder):
        database = client("dynamodb", port)
        database.create_table(TableName="Chat", **checks.CHAT_TABLE)
        database.get_waiter("table_exists").wait(TableName="Chat", WaiterConfig={"Delay": 1})
        write(port, range(1000), 1, 30)
        if emulator.sqs:
            url = client("sqs", port).create_queue(QueueName="kept")["QueueUrl"]
            client("sqs", port).send_message(QueueUrl=url, MessageBody="kept")
    with running(emulator, port, folder):
        try:
            count = client("dynamodb", port).scan(TableName="Chat", Select="COUNT")["Count"]
        except ClientError:
            count = 0
        result.survives["DynamoDB"] = f"{count} of 1000 items"
        if emulator.sqs:
            try:
                kept = client("sqs", port).receive_message(QueueUrl=url).get("Messages", [])
            except ClientError:
                kept = []
            result.survives["SQS"] = f"{len(kept)} of 1 messages"


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=100_000)
    parser.add_argument("--threads", type=int, default=3)
    parser.add_argument(
        "--budget", type=float, default=90, help="seconds of writing after which a candidate is stopped"
    )
    parser.add_argument("--only", default="", help="run the candidates whose name contains this")
    bench_rounds.add_options(parser, 1)
    options = parser.parse_args()
    chosen = [each for each in candidates() if options.only.lower() in each.name.lower()]
    rounds = []
    for number in range(options.rounds):
        rounds.append([Result(each.name) for each in chosen])
        for emulator, result in zip(chosen, rounds[-1], strict=True):
            print(f"{emulator.name} ...", file=sys.stderr, flush=True)
            with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as other:
                for data in (Path(folder) / "data", Path(other) / "data"):
                    data.mkdir()
                measure(emulator, result, options, Path(folder) / "data")
                if not number:
                    survive(emulator, result, Path(other) / "data")
    report(rounds[0])  # what an emulator keeps is found out once
    bench_rounds.write(numbers(rounds), options.json)


if __name__ == "__main__":
    main()
