"""Stages that benchmarks start: one of this checkout and, with ``--beside``, one of another, measured in turns."""

from __future__ import annotations

import itertools
import json
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any, TypeVar

import pika

from bench import ROOT
from bench.rounds import Series, figure
from bench.services import broker_parameters
from loadtest.client.stage_process import SeparateStage, interruptible
from loadtest.samples.processes import ProcessUsage
from localstage.core.statefile import StateFile
from localstage.rows import table_of

STAGE = "stage"
"""The name of the process that runs the gateway, the Runtime API and the triggers."""
RECEIVING, PERSISTING, OTHER = "receiving worker", "persisting worker", "other"
COMPONENTS = {
    "ReceiveFrame": RECEIVING,
    "ReceiveHttp": RECEIVING,
    "Echo": RECEIVING,
    "PersistEvents": PERSISTING,
    STAGE: STAGE,
    "RabbitMQ": "RabbitMQ",
    "DynamoDB emulator": "DynamoDB emulator",
}
"""What a single event takes CPU of, by the name of a process; all other processes are ``OTHER``."""


class Stage:
    """A separate stage in ``folder``, and what it took.

    ``found`` has a number per round for each measured thing: what was done (a kind of event, a load), and the measure.
    ``numbers`` are those of the events that were sent to it.
    """

    def __init__(self, folder: Path, *options: str, checkout: Path = ROOT) -> None:
        self.name = folder.name
        self.found: defaultdict[tuple[str, str], list[float]] = defaultdict(list)
        self.numbers = itertools.count()
        self.process = SeparateStage(folder, *options, checkout=checkout)
        self._folder = folder
        self._usage = ProcessUsage()

    def start(self) -> None:
        """Start it, and count its CPU from then on."""
        self.target = self.process.start()
        self.cpu()

    def cpu(self) -> dict[str, float]:
        """Seconds of CPU since the last call, by the name of a process or function."""
        return self._usage.take({self.process.pid: STAGE})[0]

    def cpu_until_stored(self) -> defaultdict[str, float]:
        """Seconds of CPU of each component since the last call, when persist_events has had nothing to do for 1 s."""
        found: defaultdict[str, float] = defaultdict(float)
        while True:
            time.sleep(1.0)
            used = self.cpu()
            for name, spent in used.items():
                found[COMPONENTS.get(name, OTHER)] += spent
            if not used.get("PersistEvents"):
                return found

    def url(self, service: str) -> str:
        """The address of the service whose name begins so."""
        found = (each for each in self.process.status()["services"] if each["name"].startswith(service))
        return str(next(found)["url"])

    def table(self, name: str) -> Any:
        """A table of its DynamoDB by the logical id, as a resource of boto3."""
        return table_of(StateFile(self._folder).variables(), name)

    def broker(self) -> pika.URLParameters:
        """The address of its broker, with the credentials of the administrator."""
        secret = json.loads((self._folder / "secrets.json").read_text())["BrokerSecret"]["value"]
        known = json.loads(secret)
        return broker_parameters(self.url("RabbitMQ"), known["username"], known["password"])

    def waiting(self, queue: str) -> int:
        """Records in a queue of its broker that no function has yet."""
        with closing(pika.BlockingConnection(self.broker())) as connection:
            return int(connection.channel().queue_declare(queue, passive=True).method.message_count)

    def figures(self) -> list[Series]:
        """What it took as figures, whose units are in their names."""
        return [figure(f"{done}: {measure}", values, "") for (done, measure), values in self.found.items()]


AnyStage = TypeVar("AnyStage", bound=Stage)


@contextmanager
def started(*stages: Stage) -> Iterator[None]:
    """Run stages for this block. Ctrl-C ends it."""
    with interruptible(), ExitStack() as stack:
        for each in stages:
            stack.enter_context(closing(each.process))
            each.start()
        yield


def in_turns(
    make: Callable[[Path, Path], AnyStage], state: Path, beside: str, rounds: int, *steps: Callable[[AnyStage], object]
) -> list[AnyStage]:
    """Take steps with the stage of this checkout and, if ``beside`` names another one, in turn with the stage of that.

    ``make`` gets the folder of a stage in ``state``, and its checkout. One more round, at the beginning, warms up.
    """
    checkouts = {"here": ROOT} | ({"beside": Path(beside).resolve()} if beside else {})
    stages = [make(state / name, checkout) for name, checkout in checkouts.items()]
    with started(*stages):
        for number in range(rounds + 1):
            for step in steps:
                for each in stages if number % 2 else stages[::-1]:
                    step(each)
            if not number:
                for each in stages:
                    each.found.clear()
    return stages
