"""The scenarios of each stream other than chat: every query counts each accepted event exactly once."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import wraps

from faults.harness.harness import PATIENCE, Harness
from faults.harness.ledger import QueueContents, Row
from faults.harness.outages import dynamodb_fault, killed
from faults.harness.stream_load import STREAMS, StreamLoad
from faults.proxies.throttle import HalfThrottled
from loadtest.runs.work import FAULTS

SENT_WITHIN = 120.0


class StreamRun:
    """A scenario with the traffic of one stream, while it runs."""

    def __init__(self, harness: Harness, stream: str, name: str, *, times: int = 1) -> None:
        self.harness = harness
        self._name = f"{stream}-{name}"
        self._began = time.monotonic()
        self._retried = harness.services.retried.events
        self.load = StreamLoad(harness.target, stream, times=times)

    def finish(self, note: str = "") -> Row:
        """End the faults and the load, drain, ask all questions and compare."""
        self.harness.heal()
        self.load.stop()
        left = self.harness.lanes.drain(PATIENCE)
        dead = self.harness.lanes.take_dead()
        found, work = self.load.work.read_back(), self.load.work
        faults = [f"{name} {count}" for name in FAULTS if (count := getattr(found, name))]
        problems = [*self.load.problems, *faults, *found.examples.get("wrong", ())]
        problems += QueueContents(dead, depths=left).problems()
        if not work.all_accepted:
            problems.append("nothing was accepted")
        self.load.close()
        return Row(
            scenario=self._name,
            seconds=time.monotonic() - self._began,
            accepted=len(work.all_accepted),
            stored=found.stored,
            retried=self.harness.services.retried.events - self._retried,
            dead=len(dead),
            parking=left.parking,
            lost=found.lost,
            unexpected=found.unexpected,
            duplicated=0,
            refused=work.retries["unavailable"],
            note=note,
            problems=problems,
        )


def broker_killed(harness: Harness, stream: str) -> Row:
    """The broker is killed (-9) and restarted under the load of {stream}, twice."""
    run = StreamRun(harness, stream, "broker-killed")
    run.load.start()
    for _ in range(2):
        time.sleep(4)
        with killed(harness.services, "RabbitMQ"):
            time.sleep(4)
    time.sleep(4)
    return run.finish("twice")


def cache_killed(harness: Harness, stream: str) -> Row:
    """The cache is killed (-9) and restarted empty under the load and queries of {stream}."""
    run = StreamRun(harness, stream, "cache-killed")
    run.load.start()
    time.sleep(5)
    with killed(harness.services, "Redis"):
        time.sleep(6)
    time.sleep(5)
    return run.finish()


def dynamodb_throttles_half(harness: Harness, stream: str) -> Row:
    """DynamoDB leaves half of all items of {stream} unprocessed, and refuses one call in ten."""
    throttle = HalfThrottled(1)
    run = StreamRun(harness, stream, "dynamodb-throttles-half")
    with dynamodb_fault(harness.services, throttle):
        run.load.start()
        time.sleep(15)
    return run.finish(f"{throttle.unprocessed:,} unprocessed items")


def three_times(harness: Harness, stream: str) -> Row:
    """Each event of {stream} is sent three times."""
    run = StreamRun(harness, stream, "three-times", times=3)
    run.load.start()
    run.load.finish(SENT_WITHIN)
    return run.finish(f"3 x {len(run.load.work.all_accepted):,}")


def _for_stream(scenario: Callable[[Harness, str], Row], stream: str) -> Callable[[Harness], Row]:
    @wraps(scenario)
    def run(harness: Harness) -> Row:
        return scenario(harness, stream)

    run.__name__ = f"{stream}_{scenario.__name__}"
    run.__doc__ = (scenario.__doc__ or "").format(stream=stream)
    return run


STREAM_SCENARIOS = tuple(
    _for_stream(scenario, stream)
    for stream in STREAMS
    for scenario in (broker_killed, cache_killed, dynamodb_throttles_half, three_times)
)
