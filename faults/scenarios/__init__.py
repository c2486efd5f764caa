"""The fault scenarios by name, in the order in which they run."""

from __future__ import annotations

from collections.abc import Callable

from faults.harness.harness import Harness
from faults.harness.ledger import Row
from faults.harness.told import TARGET
from faults.scenarios import broker, cluster, store
from faults.scenarios.brokers import one_of_two_brokers_killed
from faults.scenarios.stage import push_killed, stage_killed
from faults.scenarios.streams import STREAM_SCENARIOS
from faults.scenarios.telling import told_target_away

Scenario = Callable[[Harness], Row]

_ALL: tuple[Scenario, ...] = (
    broker.broker_down_from_start,
    broker.broker_killed,
    broker.broker_black_holed,
    broker.broker_memory_alarm,
    broker.broker_and_sqs_down,
    broker.confirms_lost,
    broker.queue_deleted,
    broker.cache_killed,
    broker.cache_silent,
    store.dynamodb_down,
    store.dynamodb_throttles_half,
    store.throttled_import,
    store.persist_killed,
    push_killed,
    store.sqs_and_dynamodb_down,
    store.poison_of_all_kinds,
    store.redrive_under_failures,
    store.crash_record,
    store.parking_queue,
    store.mapping_nacks,
    store.three_times,
    *STREAM_SCENARIOS,
    stage_killed,
    broker.function_frozen,
    told_target_away,
    one_of_two_brokers_killed,
    cluster.cluster_leader_killed,
    cluster.cluster_follower_killed,
    cluster.cluster_majority_killed,
    cluster.cluster_node_cut_off,
    cluster.cluster_disk_full,
    cluster.cluster_rolling_restart,
    cluster.cluster_down_from_start,
)
SCENARIOS = {scenario.__name__.replace("_", "-"): scenario for scenario in _ALL}
_PARAMETERS = {"told-target-away": TARGET, "one-of-two-brokers-killed": {"BrokerCount": "2"}}


def stage_of(name: str) -> tuple[int, tuple[tuple[str, str], ...]]:
    """How many nodes of RabbitMQ the scenario needs, and which parameters of the template."""
    return 3 if name.startswith("cluster-") else 1, tuple(_PARAMETERS.get(name, {}).items())
