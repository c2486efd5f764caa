"""``python -m faults.soak [--seconds 600] [--seed N]``: random faults under steady load, checked like a scenario.

The seed, printed first, determines which faults occur, when and for how long. Exits with 1 if an accepted event was
lost, duplicated or altered.
"""

from __future__ import annotations

import random
import secrets
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

from faults.__main__ import line
from faults.harness import outages
from faults.harness.harness import SETTLED, Harness
from faults.harness.outages import both, dynamodb_fault, sqs_down
from faults.harness.services import ProxiedServices
from faults.proxies.proxy_faults import KillsWriters, RefusesSome, down
from faults.proxies.socket_owner import kill_worker
from faults.proxies.throttle import HalfThrottled
from loadtest.client.command import Parser, between, exit_code_of, positive
from loadtest.client.stage_process import interruptible
from localstage.core.errors import StageError

LOAD: dict[str, Any] = {"sockets": 5, "posts": 2, "rate": 900.0, "size": 50}
CALM = (3.0, 9.0)
LAST_CALM = 10.0

Outage = Callable[[ProxiedServices, random.Random], AbstractContextManager[object]]


OUTAGES: dict[str, tuple[Outage, float]] = {
    "broker_killed": (lambda services, _: outages.killed(services, "RabbitMQ"), 1 / 3),
    "broker_stalled": (lambda services, chance: outages.broker_stalled(services, cut=chance.random() < 0.5), 1),
    "broker_refused": (lambda services, _: outages.broker_refusing(services), 1),
    "broker_slow": (lambda services, chance: outages.broker_slow(services, chance.uniform(0.1, 1.0)), 1),
    "confirms_lost": (lambda services, chance: outages.confirms_lost(services, chance.randint(1, 10)), 1),
    "broker_alarm": (lambda services, _: outages.memory_alarm(services), 1 / 2),
    "dynamodb_down": (lambda services, _: dynamodb_fault(services, down), 1),
    "dynamodb_throttled": (lambda services, chance: dynamodb_fault(services, HalfThrottled(chance.getrandbits(32))), 1),
    "dynamodb_refuses": (
        lambda services, chance: dynamodb_fault(services, RefusesSome(chance.choice("0123456789abcdef"))),
        1 / 4,
    ),
    "dynamodb_killed": (lambda services, _: outages.killed(services, "DynamoDB"), 1 / 3),
    "writers_killed": (
        lambda services, chance: dynamodb_fault(
            services, KillsWriters(every=chance.randint(3, 20), most=chance.randint(1, 6))
        ),
        1,
    ),
    "sqs_down": (lambda services, _: sqs_down(services), 1),
    "sqs_and_dynamodb_down": (lambda services, _: both(sqs_down(services), dynamodb_fault(services, down)), 1),
    "everything_down": (lambda services, _: both(sqs_down(services), outages.broker_refusing(services)), 1),
    "cache_killed": (lambda services, _: outages.killed(services, "Redis"), 1 / 2),
    "cache_silent": (lambda services, _: outages.silent(services, "Redis"), 1),
}
"""By name: the outage, and its share of the drawn duration."""
RECEIVER_KILLED = "receiver_killed"
FAULTS = (*OUTAGES, RECEIVER_KILLED)


def draw(seed: int) -> Iterator[tuple[str, float, float]]:
    """Yields each fault once per round, in random order, with the seconds of the fault and of the calm after it."""
    chance = random.Random(seed)
    while True:
        for fault in chance.sample(FAULTS, len(FAULTS)):
            yield fault, chance.uniform(2.0, 12.0), chance.uniform(*CALM)


def cause(harness: Harness, fault: str, chance: random.Random, seconds: float) -> None:
    """Cause one fault for about ``seconds``."""
    if fault == RECEIVER_KILLED:
        for _ in range(chance.randint(1, 4)):
            kill_worker(harness.stage.pid, chance.choice(("ReceiveFrame", "ReceiveHttp")))
            time.sleep(chance.uniform(0.1, 1.0))
        return
    outage, share = OUTAGES[fault]
    with outage(harness.services, chance):
        time.sleep(seconds * share)


def soak(harness: Harness, seconds: float, seed: int) -> int:
    """Cause faults for ``seconds``; returns the exit code."""
    caused: Counter[str] = Counter()
    chance = random.Random(seed + 1)
    with harness.scenario(f"soak-{seed}", **LOAD) as run:

        def passed() -> float:
            return time.monotonic() - run.began

        def report(event: str) -> None:
            print(f"{passed():5.0f} s  {run.load.accepted:9,} accepted  {event}", flush=True)

        run.load.start()
        time.sleep(SETTLED)
        for fault, lasting, calm in draw(seed):
            if passed() > seconds - LAST_CALM:
                break
            report(f"{fault} for about {lasting:.0f} s")
            cause(harness, fault, chance, lasting)
            caused[fault] += 1
            time.sleep(min(calm, max(0.0, seconds - LAST_CALM - passed())))
        time.sleep(max(0.0, seconds - passed()))
        run.load.stop()
        report("draining, then reading everything back")
        redriven = harness.redrive_all()
        row = run.finish(f"{sum(caused.values())} faults, {redriven} redriven", patience=200)
    print("faults: " + ", ".join(f"{name} {count}" for name, count in sorted(caused.items())))
    print(line(row))
    return 0 if row.good else 1


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    parser = Parser(prog="python -m faults.soak", description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=positive, default=600.0)
    parser.add_argument("--seed", type=partial(between, 0, 10**9), help="default: random")
    parsed = parser.parse_args(arguments)
    seed = secrets.randbelow(1_000_000) if parsed.seed is None else parsed.seed
    print(f"soak of {parsed.seconds:.0f} s, seed {seed} (again: make soak SEED={seed}); Ctrl-C ends it and cleans up")
    print("starting RabbitMQ, Redis, DynamoDB, SQS, proxies in front of them, and a stage", flush=True)

    def run() -> int:
        with Harness() as harness:
            return soak(harness, parsed.seconds, seed)

    with interruptible():
        return exit_code_of(run, StageError)


if __name__ == "__main__":
    sys.exit(main())
