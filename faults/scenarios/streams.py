"""Scenarios under the load of other streams than chat: every answer counts each accepted event exactly once."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps

from faults.harness.harness import Harness
from faults.harness.ledger import Row
from faults.harness.stream_load import EVENTS, STREAMS
from faults.scenarios.broker import broker_killed, cache_killed
from faults.scenarios.store import dynamodb_throttles_half


def three_times(harness: Harness, stream: str) -> Row:
    """Each event is sent three times."""
    with harness.scenario("three-times", stream, times=3) as run:
        run.load.start()
        run.wait_until(run.load.is_done)
        return run.finish(f"3 x {EVENTS:,}")


def _for_stream(scenario: Callable[[Harness, str], Row], stream: str) -> Callable[[Harness], Row]:
    @wraps(scenario)
    def run(harness: Harness) -> Row:
        return scenario(harness, stream)

    run.__name__ = f"{stream}_{scenario.__name__}"
    run.__doc__ = f"With {stream}: {scenario.__doc__}"
    return run


STREAM_SCENARIOS = tuple(
    _for_stream(scenario, stream)
    for stream in STREAMS
    for scenario in (broker_killed, cache_killed, dynamodb_throttles_half, three_times)
)
