"""What a stage has at rest, from ``template.yaml`` and a section of ``samconfig.toml``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from localstage.template import parameters
from localstage.template.attributes import Attributes, Live
from localstage.template.document import parse
from localstage.template.intrinsics import Resolver

ROOT = Path(__file__).resolve().parents[2]
STAGES = ("dev", "staging", "prod")
REGION = "us-east-1"
DISK_GB = {"SINGLE_INSTANCE": 200, "mq.m7g.medium": 5, "mq.m7g.large": 15, "mq.m7g.xlarge": 25}
"""A single node's disk, and that of one node of a cluster, by instance type."""
ON_DEMAND_UNITS = 4_000
"""Write units a second of a new on-demand table (https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/
warm-throughput.html)."""
OF_FEATURES = "Has"
"""How the names of the conditions of features begin; a stage has all features."""
_NOWHERE = Live("", "", 0, "", "", "", "", "", "")


@dataclass(frozen=True)
class Stage:
    """Counts of what is paid per month or hour: ``endpoints`` counts each zone.

    ``queues`` and ``retention`` are the persist queues of each stream, and the days that its rows are kept.
    ``warm_units`` are the write units a second, over all tables and indexes, that are warmed once beyond those that
    every table has. Each of the ``scaled`` tables and indexes has at least ``minimum_units`` provisioned, or none if
    that is 0. ``values`` are all parameters.
    """

    name: str
    instance: str
    nodes: int
    disk_gb: int
    endpoints: int
    secrets: int
    alarm_metrics: int
    machine_clients: int
    warm_units: int
    queues: Mapping[str, int]
    retention: Mapping[str, int]
    minimum_units: int = 0
    scaled: int = 0
    values: Mapping[str, Any] = field(default_factory=dict)

    @property
    def brokers(self) -> int:
        """The brokers, each with so many nodes, disks and queues."""
        return int(self.values.get("BrokerCount", 1))


def read(name: str) -> Stage:
    """The stage that this section of ``samconfig.toml`` deploys.

    Raises:
        localstage.core.errors.TemplateError: there is no such section, or the template cannot be evaluated.
    """
    path = ROOT / "template.yaml"
    configured = parameters.from_samconfig(ROOT / "samconfig.toml", name)
    document = parse(path.read_text(encoding="utf-8"), path, configured)
    values = parameters.values(document["Parameters"], configured)
    resolver = Resolver(document, values, Attributes(_NOWHERE), REGION)
    resources = document["Resources"]

    def properties(type_: str) -> list[Any]:
        found = ((id_, one) for id_, one in resources.items() if one["Type"] == type_)
        return [one.get("Properties", {}) for id_, one in found if resolver.exists(id_)]

    instance, mode = str(values["BrokerInstanceType"]), str(values["BrokerDeploymentMode"])
    nodes = 1 if mode == "SINGLE_INSTANCE" else 3
    paid = [one for one in properties("AWS::EC2::VPCEndpoint") if one.get("VpcEndpointType") == "Interface"]
    per_broker = _alarms("broker-alarms.yaml") * int(values["BrokerCount"])
    clients = properties("AWS::Cognito::UserPoolClient")
    persisting = resources["PersistEvents"]["Properties"]["Environment"]["Variables"]
    queues = {name.removesuffix("Queues").lower(): int(values[name]) for name in values if name.endswith("Queues")}
    days = {name: persisting.get(f"{name.upper()}_RETENTION_DAYS") for name in queues}
    kept = {name: int(resolver.value(value)) for name, value in days.items() if value is not None}
    of_events = str(properties("AWS::DynamoDB::Table")).count("WarmThroughput")
    return Stage(
        name,
        instance,
        nodes,
        nodes * DISK_GB[mode if nodes == 1 else instance],
        sum(len(resolver.value(one["SubnetIds"])) for one in paid),
        len(properties("AWS::SecretsManager::Secret")),
        sum(_metrics(alarm, nodes) for alarm in _alarms("monitoring.yaml") + per_broker),
        sum("client_credentials" in str(client.get("AllowedOAuthFlows")) for client in clients),
        of_events * max(0, int(values["WarmWriteUnits"]) - ON_DEMAND_UNITS),
        queues,
        kept,
        int(values["MinimumTableUnits"]),
        of_events,
        values,
    )


def _alarms(template: str) -> list[dict[str, Any]]:
    path = ROOT / "templates" / template
    resources = parse(path.read_text(encoding="utf-8"), path)["Resources"].values()
    return [
        one["Properties"]
        for one in resources
        if "Alarm" in one["Type"] and one.get("Condition", OF_FEATURES).startswith(OF_FEATURES)
    ]


def _metrics(alarm: dict[str, Any], nodes: int) -> int:
    """The metrics of an alarm: a query reads that of each node of the broker. An alarm of others costs as five."""
    if "AlarmRule" in alarm:
        return 5
    chosen = (each.get("Fn::If", ["", each, each]) for each in alarm.get("Metrics", ()))
    parts = [then if nodes > 1 or condition.startswith(OF_FEATURES) else other for condition, then, other in chosen]
    queries = sum("SELECT" in str(each.get("Expression")) for each in parts)
    return max(1, sum("MetricStat" in each for each in parts) + queries * nodes)
