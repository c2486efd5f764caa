"""The same bad days for each stream that is not chat: what was accepted is in every answer, and counted once."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import wraps
from typing import Any

from faults.harness import PATIENCE, World
from faults.ledger import Row
from faults.proxies.proxy_faults import HalfThrottled
from faults.traffic import TRAFFIC, TrafficLoad

SENT_WITHIN = 120.0


class StreamDay:
    """One scenario under way, with one stream's traffic."""

    def __init__(self, world: World, stream: str, name: str, *, times: int = 1) -> None:
        self.world = world
        self._name = f"{stream}-{name}"
        self._began = time.monotonic()
        self._retried = world.backing.watch.events
        self.load = TrafficLoad(world.target, TRAFFIC[stream](time.time_ns() // 1_000_000_000), times=times)

    def run_for(self, seconds: float) -> None:
        """Let the load go on."""
        time.sleep(seconds)

    def end(self, note: str = "") -> Row:
        """Heal, stop the load, drain, ask everything, judge."""
        self.world.heal()
        self.load.stop()
        left = self.world.lanes.drain(PATIENCE)
        dead = self.world.lanes.take_dead()
        answers, account = self.load.answers(), self.load.account
        problems = [*self.load.troubles, *answers.wrong[:3]]
        if answers.lost or answers.unexpected:
            problems.append(f"lost {answers.lost}, unexpected {answers.unexpected}")
        if dead:
            problems.append(f"{len(dead)} dead that should live: {dead[0].reason} {dead[0].body[:120]!r}")
        if left.moving or left.parked:
            problems.append(f"not drained: {left}")
        if not account.accepted or answers.stored < account.accepted:
            problems.append(f"{answers.stored} of {account.accepted} accepted events are in the answers")
        self.load.api.close()
        return Row(
            day=self._name,
            seconds=time.monotonic() - self._began,
            accepted=account.accepted,
            stored=answers.stored,
            retried=self.world.backing.watch.events - self._retried,
            dead=len(dead),
            parked=left.parked,
            lost=answers.lost,
            unexpected=answers.unexpected,
            duplicated=0,
            refused=account.errors["unavailable"],
            note=note,
            problems=problems,
        )


def broker_killed(world: World, stream: str) -> Row:
    """The broker is killed (-9) and started again under the load of {stream}, twice."""
    day = StreamDay(world, stream, "broker-killed")
    day.load.start()
    for _ in range(2):
        day.run_for(4)
        world.backing.kill("RabbitMQ")
        day.run_for(4)
        world.backing.start_again("RabbitMQ")
    day.run_for(4)
    return day.end("twice")


def cache_killed(world: World, stream: str) -> Row:
    """The cache is killed (-9) under the load of {stream} and its questions, and comes back empty."""
    day = StreamDay(world, stream, "cache-killed")
    day.load.start()
    day.run_for(5)
    world.backing.kill("Redis")
    day.run_for(6)
    world.backing.start_again("Redis")
    day.run_for(5)
    return day.end()


def dynamodb_throttles_half(world: World, stream: str) -> Row:
    """DynamoDB leaves half of all items of {stream} unprocessed, and refuses one call in ten."""
    judge = HalfThrottled(1)
    day = StreamDay(world, stream, "dynamodb-throttles-half")
    world.backing.judge_dynamodb(judge)
    day.load.start()
    day.run_for(15)
    return day.end(f"{judge.left:,} items were left over")


def three_times(world: World, stream: str) -> Row:
    """Each event of {stream} is sent three times."""
    day = StreamDay(world, stream, "three-times", times=3)
    day.load.start()
    day.load.finish(SENT_WITHIN)
    return day.end(f"3 x {day.load.account.accepted:,}")


def _of(scenario: Callable[[World, str], Row], stream: str) -> Callable[[World], Row]:
    @wraps(scenario)
    def day(world: World) -> Row:
        return scenario(world, stream)

    day.__name__ = f"{stream}_{scenario.__name__}"
    day.__doc__ = (scenario.__doc__ or "").format(stream=stream)
    return day


SCENARIOS: tuple[Callable[[World, str], Row], ...] = (broker_killed, cache_killed, dynamodb_throttles_half, three_times)
DAYS: tuple[Any, ...] = tuple(_of(scenario, stream) for stream in TRAFFIC for scenario in SCENARIOS)
