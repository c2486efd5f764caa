"""``python -m loadtest.samples.sampler --http-url … --websocket-url …``: samples a stage until its input ends.

A separate process, so that no look delays a request; its parent is the load generator. It prints a line when it begins,
and at the end the samples as one JSON object.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import closing, suppress
from typing import Any

from headrace.queues.names import PERSIST_PREFIX
from loadtest.client.target import Target
from loadtest.samples.capacity import ConsumedCapacity
from loadtest.samples.functions import FunctionUsage
from loadtest.samples.processes import ProcessUsage
from loadtest.samples.recording import Sample, columns
from loadtest.sending.queue_depths import Lanes
from localstage.client.errors import ClientError
from localstage.client.http_api import HttpApi
from localstage.client.running_stage import running_stage, stage_file
from localstage.core.statefile import Running

INTERVAL = 1.0
"""Seconds between samples."""
DEPTHS_EVERY = 2
"""One sample in so many asks for the depths; the others repeat the last answer."""
READY = "ready"
"""The first line of the output."""
OPERATOR = "loadtest-samples"
STAGE, GENERATOR = "gateway and triggers", "load generator"
HELD, HELD_SECONDS = "main, unacknowledged", 0.5
NOT_LOCAL = (
    "CPU, memory, functions' metrics and DynamoDB's units of each second are those of a local stage; of a deployed one "
    "CloudWatch has them. STACK, its name, adds what DynamoDB did in all. Depths of its queues are without messages "
    "that functions hold."
)
NO_UNITS = "DynamoDB's units are unknown: the stage's DynamoDB did not answer with them."
NO_DEPTHS = "The depths of the queues are unknown, because no token has the scope ops."


class Sampler:
    """Takes samples of ``target``; ``generator`` is the process id of the load generator."""

    def __init__(self, target: Target, generator: int) -> None:
        self.samples: list[Sample] = []
        self._target = target
        self._generator = generator
        stage, folder = self._stage(), stage_file().parent
        self._processes = ProcessUsage()
        self._functions = None if stage is None else FunctionUsage(folder / "logs")
        self._capacity = None if stage is None else ConsumedCapacity(folder)
        self._lanes = Lanes(target.operator(OPERATOR))
        self._depths: dict[str, Any] = {}
        self.stopping = threading.Event()

    def _stage(self) -> Running | None:
        """The local stage that is the target; a stage that was started again has another process."""
        stage = running_stage()
        return stage if stage is not None and stage.http_url == self._target.http_url else None

    def prepare(self) -> None:
        """Do what takes time at the start: the function that reads the depths may have to start."""
        self._ask_depths()
        self._processes.take(self._roots())

    def run(self) -> None:
        """Take samples until ``stopping`` is set."""
        before = time.time()
        while not self.stopping.wait(INTERVAL):
            if len(self.samples) % DEPTHS_EVERY == 0:
                self._ask_depths()
            now = time.time()
            self.samples.append((now, self._values(max(0.001, now - before))))
            before = now

    def _ask_depths(self) -> None:
        if self._lanes.known:
            self._depths = self._lanes.depths()
        if (stage := self._stage()) is not None:
            self._depths = self._depths | {HELD: _held(stage)}

    def _values(self, seconds: float) -> dict[str, dict[str, Any]]:
        cpu, memory = self._processes.take(self._roots())
        try:
            functions = self._functions.take(seconds) if self._functions is not None else {}
        except OSError:
            functions = {}  # a log was just removed
        units = self._capacity.take(seconds) if self._capacity is not None else {}
        share = {name: used / seconds for name, used in cpu.items()}
        return {"cpu": share, "memory": memory, "depths": self._depths, "units": units, **functions}

    def _roots(self) -> dict[int, str]:
        stage = self._stage() if self._functions is not None else None
        return {self._generator: GENERATOR} | ({} if stage is None else {stage.pid: STAGE})

    def document(self) -> dict[str, Any]:
        """All samples; ``notes`` are sentences about what is missing."""
        missing = {
            NOT_LOCAL: self._functions is None,
            NO_UNITS: self._capacity is not None and not self._capacity.known,
            NO_DEPTHS: not self._lanes.known,
        }
        return columns(self.samples) | {"notes": [sentence for sentence, absent in missing.items() if absent]}


def _held(stage: Running) -> int | None:
    """The messages that functions which store events have received and not acknowledged; None without an answer."""
    api = HttpApi(stage.status_url, timeout=HELD_SECONDS, retry_timeout=0)
    with closing(api), suppress(ClientError, LookupError, TypeError, ValueError):
        triggers = api.get("/")["triggers"]
        return sum(int(each["held"]) for each in triggers if str(each["source"]).startswith(PERSIST_PREFIX))
    return None


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m loadtest.samples.sampler", description=__doc__.splitlines()[0])
    parser.add_argument("--http-url")
    parser.add_argument("--websocket-url")
    parsed = parser.parse_args(arguments)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which then ends this
    sampler = Sampler(Target.find(parsed.http_url, parsed.websocket_url), os.getppid())

    def until_the_end() -> None:
        sys.stdin.read()
        sampler.stopping.set()

    threading.Thread(target=until_the_end, daemon=True).start()
    sampler.prepare()
    print(READY, flush=True)
    sampler.run()
    json.dump(sampler.document(), sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
