"""Compares emulators of DynamoDB and SQS on this machine: ``python -m bench.emulators --items 100000``.

dynalite and MiniStack are installed into ``.local/`` as the stage does it, moto is in ``.venv``. A candidate that
needs more than ``--budget`` seconds for its items is stopped, and the table shows how many it wrote.
"""

from __future__ import annotations

import argparse
import http.client
import json
import statistics
import sys
import tempfile
import threading
import time
from http import HTTPStatus
from pathlib import Path
from typing import Any

import psutil
from botocore.exceptions import ClientError

from bench.emulators import checks, checks_sqs
from bench.emulators.processes import Emulator, candidates, client, free_port, running
from bench.emulators.report import Result, numbers, report
from bench.suite import rounds as bench_rounds

BATCH = 25
HEADERS = {
    "Authorization": "AWS4-HMAC-SHA256 Credential=local/20261123/us-east-1/dynamodb/aws4_request, "
    "SignedHeaders=host, Signature=0",
    "Content-Type": "application/x-amz-json-1.0",
    "X-Amz-Date": "20261123T000000Z",
    "X-Amz-Target": "DynamoDB_20120810.BatchWriteItem",
}
"""Of a write. No emulator checks signatures, and boto3 would need more CPU for a write than most of them."""


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


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.emulators", description=__doc__)
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
