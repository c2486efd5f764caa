"""Tables: keys, indexes, expiry and recovery."""

from itertools import pairwise, product
from typing import Any

from headrace.core.stream import TIME_SHARDS
from localstage.template.document import parse
from tests.unit.template_stack import CLIENT_STREAMS, ROOT, TemplateStack

OF_THE_MOMENT = {"ConnectionsTable", "WebhooksTable"}
"""Tables whose rows say what is so now: they are not restored."""


def test_every_table_but_those_of_the_moment_can_be_restored_and_has_the_right_expiry(
    template_stack: TemplateStack,
) -> None:
    """All expire items, except those that hold rights and which receivers are off. Of erasures, only exports do."""
    tables = template_stack.of_type("AWS::DynamoDB::Table")

    for name, table in tables.items():
        kept = None if name in OF_THE_MOMENT else {"PointInTimeRecoveryEnabled": True}
        assert table.get("PointInTimeRecoverySpecification") == kept, name
        assert "SSESpecification" not in table, "DynamoDB's own key encrypts, and is free"
    forget = {name for name, table in tables.items() if "TimeToLiveSpecification" in table}
    for name in forget:
        assert tables[name]["TimeToLiveSpecification"] == {"AttributeName": "expiresAt", "Enabled": True}
    assert tables.keys() - forget == {"RoomsTable", "MembershipsTable", "ResortsTable", "WebhooksTable"}


def test_every_table_of_events_and_its_indexes_can_be_warmed(template_stack: TemplateStack) -> None:
    """An index that is not warm holds back the writes of its table."""
    warm = {"Fn::If": ["WarmsTables", {"WriteUnitsPerSecond": {"Ref": "WarmWriteUnits"}}, {"Ref": "AWS::NoValue"}]}
    for stream in CLIENT_STREAMS:
        table = template_stack.resources[template_stack.table_of(stream)]["Properties"]

        for one in (table, *table.get("GlobalSecondaryIndexes", [])):
            assert one.get("WarmThroughput") == warm, stream.name


def test_a_provisioned_table_and_its_indexes_scale_together(template_stack: TemplateStack) -> None:
    """A table is provisioned with all of its indexes; one that does not scale would hold back the others."""
    units = {f"{kind}CapacityUnits": {"Ref": "MinimumTableUnits"} for kind in ("Read", "Write")}
    provisioned = {"Fn::If": ["ScalesTables", units, {"Ref": "AWS::NoValue"}]}
    wanted = set()
    for name, table in template_stack.of_type("AWS::DynamoDB::Table").items():
        indexes = table.get("GlobalSecondaryIndexes", [])
        if "ProvisionedThroughput" in table:
            assert table["BillingMode"] == {"Fn::If": ["ScalesTables", "PROVISIONED", "PAY_PER_REQUEST"]}
            assert all(one.get("ProvisionedThroughput") == provisioned for one in (table, *indexes)), name
            wanted |= {("table", name, "")} | {("index", name, one["IndexName"]) for one in indexes}
    path = ROOT / "templates" / "scaling.yaml"
    resources = parse(path.read_text(encoding="utf-8"), path)["Resources"]
    targets = {id: one["Properties"] for id, one in resources.items() if one["Type"].endswith("ScalableTarget")}
    policies = [one["Properties"] for one in resources.values() if one["Type"].endswith("ScalingPolicy")]

    assert len(wanted) == 11
    assert {(one["ScalableDimension"]["Fn::Sub"], *_scaled(one["ResourceId"])) for one in targets.values()} == {
        (f"dynamodb:{kind}:{unit}CapacityUnits", *where) for kind, *where in wanted for unit in ("Read", "Write")
    }
    assert [one["ScalingTargetId"]["Ref"]["Fn::Sub"] for one in policies] == list(targets)
    for target, policy in zip(targets.values(), policies, strict=True):
        unit = target["ScalableDimension"]["Fn::Sub"].split(":")[-1].removesuffix("CapacityUnits")
        metric = policy["TargetTrackingScalingPolicyConfiguration"]["PredefinedMetricSpecification"]

        assert metric == {"PredefinedMetricType": {"Fn::Sub": f"DynamoDB{unit}CapacityUtilization"}}


def _scaled(resource_id: dict[str, Any]) -> tuple[str, str]:
    """The table and the index of a scalable target."""
    _, table, *index = resource_id["Fn::Join"][1]
    return (table["Ref"], index[1]["Fn::Sub"]) if index else (table["Ref"]["Fn::Sub"], "")


def holds(condition: Any, values: dict[str, str]) -> Any:
    """The value of a condition of CloudFormation."""
    if not isinstance(condition, dict):
        return condition
    ((name, given),) = condition.items()
    if name == "Ref":
        return values[given]
    parts = [holds(part, values) for part in given]
    return {"Fn::Equals": parts[0] == parts[-1], "Fn::Or": any(parts), "Fn::And": all(parts)}[name]


def test_a_stack_must_read_the_time_shards_that_it_writes(template_stack: TemplateStack) -> None:
    (assertion,) = template_stack.rules["WrittenTimeShardsAreRead"]["Assertions"]
    allowed = [template_stack.parameters[f"TimeShards{kind}"]["AllowedValues"] for kind in ("Read", "Written")]

    for read, written in product(*allowed):
        is_allowed = holds(assertion["Assert"], {"TimeShardsRead": read, "TimeShardsWritten": written})
        assert is_allowed == (int(read) >= int(written)), (read, written)


def test_the_numbers_of_time_shards_divide_each_other(template_stack: TemplateStack) -> None:
    """So ``make replay`` can move a row of an archive with more shards to one of the stage."""
    numbers = list(map(int, template_stack.parameters["TimeShardsWritten"]["AllowedValues"]))

    assert numbers[0] == TIME_SHARDS.write == TIME_SHARDS.read
    assert all(larger % smaller == 0 for smaller, larger in pairwise(numbers))
