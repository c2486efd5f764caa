"""``python -m faults.soak [--seconds 600] [--seed N]``: random faults under steady load, judged like any day.

Which faults, when and for how long follows from the seed, which is printed first. Exits with 1 if anything accepted was
lost, doubled or invented.
"""

from __future__ import annotations

import argparse
import random
import secrets
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from faults.harness import SETTLED, World
from faults.proxies.proxy_faults import HalfThrottled, KillsWriters, LosesConfirms, RefusesSome, down, refuse
from faults.proxies.socket_owner import kill_worker
from loadtest.client import LoadTestError
from loadtest.stage_process import interruptible, uninterrupted
from localstage.errors import StageError

LOAD = {"sockets": 5, "posts": 2, "rate": 900.0, "size": 50}
CALM = (3.0, 9.0)
LAST_CALM = 10.0

Fault = Callable[[World, random.Random, float], object]


def broker_killed(world: World, _random: random.Random, seconds: float) -> None:
    world.backing.kill("RabbitMQ")
    time.sleep(seconds / 3)
    world.backing.start_again("RabbitMQ")


def broker_stalled(world: World, chance: random.Random, seconds: float) -> None:
    world.backing.broker.stall()
    time.sleep(seconds)
    if chance.random() < 0.5:
        world.backing.broker.cut()
    world.backing.broker.pass_all()


def broker_refused(world: World, _random: random.Random, seconds: float) -> None:
    world.backing.broker.to_server = refuse
    world.backing.broker.cut()
    time.sleep(seconds)
    world.backing.broker.pass_all()


def broker_slow(world: World, chance: random.Random, seconds: float) -> None:
    world.backing.broker.delay = chance.uniform(0.1, 1.0)
    time.sleep(seconds)
    world.backing.broker.pass_all()


def confirms_lost(world: World, chance: random.Random, seconds: float) -> None:
    world.backing.broker.to_client = LosesConfirms(chance.randint(1, 10))
    time.sleep(seconds)
    world.backing.broker.pass_all()


def broker_alarm(world: World, _random: random.Random, seconds: float) -> None:
    world.backing.rabbitmqctl("set_vm_memory_high_watermark", "0.00001")
    time.sleep(seconds / 2)
    world.backing.rabbitmqctl("set_vm_memory_high_watermark", "0.4")


def dynamodb_down(world: World, _random: random.Random, seconds: float) -> None:
    world.backing.judge_dynamodb(down)
    time.sleep(seconds)
    world.backing.judge_dynamodb()


def dynamodb_throttled(world: World, chance: random.Random, seconds: float) -> None:
    world.backing.judge_dynamodb(HalfThrottled(chance.getrandbits(32)))
    time.sleep(seconds)
    world.backing.judge_dynamodb()


def dynamodb_refuses(world: World, chance: random.Random, seconds: float) -> None:
    world.backing.judge_dynamodb(RefusesSome(chance.choice("0123456789abcdef")))
    time.sleep(seconds / 4)
    world.backing.judge_dynamodb()


def dynamodb_killed(world: World, _random: random.Random, seconds: float) -> None:
    world.backing.kill("DynamoDB")
    time.sleep(seconds / 3)
    world.backing.start_again("DynamoDB")


def writers_killed(world: World, chance: random.Random, seconds: float) -> None:
    world.backing.judge_dynamodb(KillsWriters(every=chance.randint(3, 20), most=chance.randint(1, 6)))
    time.sleep(seconds)
    world.backing.judge_dynamodb()


def sqs_down(world: World, _random: random.Random, seconds: float) -> None:
    world.backing.judge_sqs(down)
    time.sleep(seconds)
    world.backing.judge_sqs()


def sqs_and_dynamodb_down(world: World, chance: random.Random, seconds: float) -> None:
    world.backing.judge_sqs(down)
    dynamodb_down(world, chance, seconds)
    world.backing.judge_sqs()


def everything_down(world: World, chance: random.Random, seconds: float) -> None:
    world.backing.judge_sqs(down)
    broker_refused(world, chance, seconds)
    world.backing.judge_sqs()


def receiver_killed(world: World, chance: random.Random, _seconds: float) -> None:
    for _ in range(chance.randint(1, 4)):
        kill_worker(world.stage.pid, chance.choice(("ReceiveFrame", "ReceiveHttp")))
        time.sleep(chance.uniform(0.1, 1.0))


def cache_killed(world: World, _random: random.Random, seconds: float) -> None:
    world.backing.kill("Redis")
    time.sleep(seconds / 2)
    world.backing.start_again("Redis")


def cache_silent(world: World, _random: random.Random, seconds: float) -> None:
    world.backing.signal("Redis", signal.SIGSTOP)
    time.sleep(seconds)
    world.backing.signal("Redis", signal.SIGCONT)


FAULTS: tuple[Fault, ...] = (
    broker_killed,
    broker_stalled,
    broker_refused,
    broker_slow,
    confirms_lost,
    broker_alarm,
    dynamodb_down,
    dynamodb_throttled,
    dynamodb_refuses,
    dynamodb_killed,
    writers_killed,
    sqs_down,
    sqs_and_dynamodb_down,
    everything_down,
    receiver_killed,
    cache_killed,
    cache_silent,
)


def draw(seed: int) -> Iterator[tuple[Fault, float, float]]:
    """Faults in rounds, each once a round in an order of its own; with each how long it and the calm after it last."""
    chance = random.Random(seed)
    while True:
        for fault in chance.sample(FAULTS, len(FAULTS)):
            yield fault, chance.uniform(2.0, 12.0), chance.uniform(*CALM)


def soak(world: World, seconds: float, seed: int) -> int:
    """Break things for ``seconds``; answers the exit code."""
    met: Counter[str] = Counter()
    chance = random.Random(seed + 1)
    with world.day(f"soak-{seed}", **LOAD) as day:
        day.load.start()
        time.sleep(SETTLED)
        for fault, lasting, calm in draw(seed):
            passed = time.monotonic() - day.began
            if passed > seconds - LAST_CALM:
                break
            name = fault.__name__
            world.say(f"{passed:5.0f} s  {day.load.accepted:9,} accepted  {name} for about {lasting:.0f} s")
            with _healed(world):
                fault(world, chance, lasting)
            met[name] += 1
            time.sleep(min(calm, max(0.0, seconds - LAST_CALM - (time.monotonic() - day.began))))
        time.sleep(max(0.0, seconds - (time.monotonic() - day.began)))
        day.load.stop()
        world.say(
            f"{time.monotonic() - day.began:5.0f} s  {day.load.accepted:9,} accepted  draining, then reading all back"
        )
        redriven = world.redrive_all()
        row = day.end(f"{sum(met.values())} faults, {redriven} redriven", patience=200)
    world.say("faults: " + ", ".join(f"{name} {count}" for name, count in sorted(met.items())))
    world.say(
        f"seed={seed} accepted={row.accepted} stored={row.stored} retried={row.retried} dead={row.dead} "
        f"parked={row.parked} lost={row.lost} unexpected={row.unexpected} duplicated={row.duplicated} "
        f"503s={row.refused} redriven={redriven} in {row.seconds:.0f} s: "
        + ("every promise kept" if row.good else "FAILED")
    )
    for problem in row.problems:
        world.say(f"  {problem}")
    return 0 if row.good else 1


@contextmanager
def _healed(world: World) -> Iterator[None]:
    try:
        yield
    finally:
        world.heal()


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m faults.soak", description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--seed", type=int, help="default: another one each time")
    parsed = parser.parse_args(arguments)
    seed = secrets.randbelow(1_000_000) if parsed.seed is None else parsed.seed
    print(f"soak of {parsed.seconds:.0f} s, seed {seed} (again: make soak SEED={seed}); Ctrl-C ends it and cleans up")
    print("starting RabbitMQ, Redis, DynamoDB, SQS, proxies in front of them, and a stage", flush=True)
    world = World(say=lambda line: print(line, flush=True))
    with interruptible():
        try:
            world.start()
            return soak(world, parsed.seconds, seed)
        except (LoadTestError, StageError) as error:
            print(f"headrace: {error}", file=sys.stderr)
            return 1
        except KeyboardInterrupt:
            print("\nheadrace: interrupted", file=sys.stderr)
            return 130
        finally:
            with uninterrupted():
                world.stop()


if __name__ == "__main__":
    sys.exit(main())
