"""The fault scenarios by name, in the order in which they run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import FunctionType, ModuleType

from faults.harness.harness import Harness
from faults.harness.ledger import Row
from faults.harness.told import TARGET
from faults.scenarios import broker, brokers, cluster, stage, store, telling
from faults.scenarios.streams import STREAM_SCENARIOS

Scenario = Callable[[Harness], Row]


def _of(module: ModuleType) -> Iterator[Scenario]:
    """The scenarios of a module: its functions that make a row of a harness."""
    functions = (each for each in vars(module).values() if isinstance(each, FunctionType))
    own = (each for each in functions if each.__module__ == module.__name__ and "harness" in each.__annotations__)
    yield from (each for each in own if each.__annotations__["return"] == "Row")


_ALL = (*_of(broker), *_of(store), *STREAM_SCENARIOS, *_of(stage), *_of(telling), *_of(brokers), *_of(cluster))
SCENARIOS = {scenario.__name__.replace("_", "-"): scenario for scenario in _ALL}
_PARAMETERS = {"told-target-away": TARGET, "one-of-two-brokers-killed": {"BrokerCount": "2"}}


def stage_of(name: str) -> tuple[int, tuple[tuple[str, str], ...]]:
    """How many nodes of RabbitMQ the scenario needs, and which parameters of the template."""
    return 3 if name.startswith("cluster-") else 1, tuple(_PARAMETERS.get(name, {}).items())
