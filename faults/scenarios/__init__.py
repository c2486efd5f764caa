"""The fault scenarios by name, in the order in which they run, and how long each takes."""

from __future__ import annotations

from collections.abc import Callable

from faults.harness.harness import Harness
from faults.harness.ledger import Row
from faults.scenarios import broker, store
from faults.scenarios.stage import stage_killed
from faults.scenarios.streams import STREAM_SCENARIOS

Scenario = Callable[[Harness], Row]

_TIMED: tuple[tuple[Scenario, int], ...] = (
    (broker.broker_down_from_start, 20),
    (broker.broker_killed, 40),
    (broker.broker_black_holed, 30),
    (broker.broker_memory_alarm, 20),
    (broker.broker_and_sqs_down, 35),
    (broker.confirms_lost, 10),
    (broker.queue_deleted, 70),
    (broker.cache_killed, 15),
    (broker.cache_silent, 20),
    (store.dynamodb_down, 75),
    (store.dynamodb_throttles_half, 20),
    (store.throttled_import, 270),
    (store.persist_killed, 25),
    (store.sqs_and_dynamodb_down, 60),
    (store.poison_of_all_kinds, 15),
    (store.redrive_under_failures, 25),
    (store.crash_record, 130),
    (store.parking_queue, 120),
    (store.three_times, 15),
    *((scenario, 60) for scenario in STREAM_SCENARIOS),
    (stage_killed, 60),
    (broker.function_frozen, 200),
)


def _name(scenario: Scenario) -> str:
    return scenario.__name__.replace("_", "-")


SCENARIOS: dict[str, Scenario] = {_name(scenario): scenario for scenario, _ in _TIMED}
SECONDS: dict[str, int] = {_name(scenario): seconds for scenario, seconds in _TIMED}
"""Duration on two cores."""
