"""What the check before a first deployment says of an account: moto's, with what moto lacks played."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from localstage.core.errors import StageError
from localstage.template import parameters
from localstage.template.document import parse
from ops import preflight
from ops.aws import Stack
from ops.preflight import CHECKS, Plan, examine, plan

EXAMPLES = preflight.ROOT / "examples" / "streams"
ZONES = ["us-east-1a", "us-east-1b", "us-east-1c"]


def quota(executions: int, unreserved: int | None = None) -> dict[str, Any]:
    free = executions if unreserved is None else unreserved
    return {"AccountLimit": {"ConcurrentExecutions": executions, "UnreservedConcurrentExecutions": free}}


def offered(*zones: str, mode: str = "SINGLE_INSTANCE", version: str = "4.2") -> dict[str, Any]:
    option = {"SupportedDeploymentModes": [mode], "SupportedEngineVersions": [version]}
    return {"BrokerInstanceOptions": [{**option, "AvailabilityZones": [{"Name": zone} for zone in zones]}]}


def endpoints(services: list[str], *zones: str) -> dict[str, Any]:
    return {"ServiceDetails": [{"ServiceName": name, "AvailabilityZones": list(zones)} for name in services]}


TOPIC = "arn:aws:sns:us-east-1:123456789012:headrace-alarms"
SERVICES = [f"com.amazonaws.us-east-1.{name}" for name in ("sqs", "secretsmanager", "lambda", "sts")]


@pytest.fixture
def ready(plays: Callable[..., None], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., None]:
    """An account in which dev can be deployed, without declared streams."""
    monkeypatch.setattr(preflight, "STREAMS", tmp_path)
    plays(
        GetAccountSettings=quota(1000),
        DescribeBrokerInstanceOptions=offered(*ZONES),
        DescribeVpcEndpointServices=endpoints(SERVICES, *ZONES),
        GetAccount={},
        GetAccountPlanState={"accountPlanType": "PAID"},
    )
    return plays


def verdicts(wanted: Plan) -> dict[str, str]:
    return {finding.check: finding.verdict for finding in examine(wanted)}


def details(wanted: Plan) -> dict[str, str]:
    """What fails, with the reason."""
    return {finding.check: finding.detail for finding in examine(wanted) if finding.verdict == "fail"}


def no_plan(_path: str) -> None:
    raise ClientError({"Error": {"Code": "ResourceNotFoundException", "Message": "no"}}, "GetAccountPlanState")


def with_(wanted: Plan, **values: str) -> Plan:
    return Plan(wanted.stack, wanted.resources, {**wanted.values, **values}, {**wanted.given, **values}, wanted.region)


def test_an_account_that_is_ready_passes(ready: None) -> None:
    found = verdicts(plan("dev"))

    assert found == dict.fromkeys(["identity", "stack", "notices", "domains", "features", "streams", *CHECKS], "pass")


def test_persist_events_needs_an_environment_for_each_of_its_mappings(ready: Callable[..., None]) -> None:
    ready()
    dev = plan("dev")
    others = [value for name, value in dev.values.items() if name.endswith("Queues") and name != "AdsQueues"]
    queues = 8 + sum(map(int, others))
    needed = queues + int(dev.values["RetryMaxConcurrency"])

    found = details(with_(dev, AdsQueues="8"))

    reason = f'{queues} persist queues and RetryMaxConcurrency need PersistConcurrency = "{needed}" at least'
    assert found == {"numbers": reason}


def test_the_largest_allowed_numbers_of_queues_fit_into_stacks(ready: Callable[..., None]) -> None:
    ready()
    dev = plan("dev")
    most = dict.fromkeys([name for name in dev.values if name.endswith("Queues")], "64")
    most |= {"BrokerCount": "2", "PersistConcurrency": "900", "ReserveConcurrency": "false"}

    assert details(with_(dev, **most)) == {}


def test_a_mistake_in_a_declaration_is_told_with_its_line_and_what_is_allowed(
    ready: Callable[..., None], tmp_path: Path
) -> None:
    ready()
    (tmp_path / "doors.py").write_text((EXAMPLES / "doors.py").read_text().replace('key="door"', 'key="gate"'))

    reason = "streams/doors.py:17: key: 'gate' is no field of Opening; allowed: door, badge, method, held_ms"
    assert details(plan("dev")) == {"streams": reason}


def test_streams_are_not_declared_for_a_stage_that_leaves_the_feature_out(
    ready: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    ready()
    monkeypatch.setattr(preflight, "STREAMS", EXAMPLES)

    reason = "streams/ declares doors, sensor-readings, but Features leaves declared out"
    assert details(with_(plan("dev"), Features="edits")) == {"streams": reason}
    assert details(with_(plan("dev"), Features="analytics,declared")) == {}


def test_a_stack_with_more_resources_than_cloudformation_takes_is_refused(
    ready: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    ready()
    monkeypatch.setattr(preflight, "MOST_RESOURCES", 100)

    found = details(plan("dev"))["numbers"]

    assert re.fullmatch(r"template.yaml has \d+ resources, at most 100 fit: lower the queues of a stream", found)


@pytest.mark.parametrize(
    ("answers", "check", "parts"),
    [
        (
            {"GetAccountSettings": quota(10)},
            "concurrency",
            [
                "of 10 concurrent executions 0 can be reserved",
                "reserves 112",
                "--quota-code L-B99A9384 --desired-value 1000",
            ],
        ),
        ({"GetAccountSettings": quota(1000, 200)}, "concurrency", ["100 can be reserved", "--desired-value 1012"]),
        (
            {"DescribeBrokerInstanceOptions": offered("us-east-1c")},
            "zones",
            ["us-east-1a has no mq.m7g.medium", 'Set Zones = "us-east-1c,us-east-1a,us-east-1b"'],
        ),
        ({"DescribeBrokerInstanceOptions": offered()}, "zones", ["choose another Region or BrokerInstanceType"]),
        ({"DescribeBrokerInstanceOptions": offered(*ZONES, version="3.13")}, "zones", ["no RabbitMQ 4.2"]),
        (
            {"DescribeVpcs": {"Vpcs": [{}] * 5}},
            "VPCs",
            ["has 5 of 5 VPCs", "--service-code vpc --quota-code L-F678F1CE --desired-value 6"],
        ),
        (
            {"GetAccount": {"cloudwatchRoleArn": "arn:aws:iam::1:role/logs"}},
            "API Gateway",
            ["arn:aws:iam::1:role/logs", 'Set ApiGatewayLogsRole = "exists"'],
        ),
        ({"GetAccount": {"throttleSettings": {"rateLimit": 500.0}}}, "API Gateway", ['Set RouteRate = "500"']),
    ],
)
def test_an_account_that_is_not_ready_fails_with_what_to_set_or_ask_for(
    ready: Callable[..., None], answers: dict[str, Any], check: str, parts: list[str]
) -> None:
    ready(**answers)

    found = details(plan("dev"))

    assert found.keys() == {check}
    assert [part for part in parts if part not in found[check]] == []


NAMES = {
    "HttpDomain": "api.example.com",
    "WebSocketDomain": "live.example.com",
    "DomainCertificateArn": "arn:aws:acm:us-east-1:123456789012:certificate/1-2",
    "DomainZoneId": "Z0123",
}


@pytest.mark.parametrize(
    ("values", "status", "part"),
    [
        ({}, "ISSUED", None),
        (
            {"DomainZoneId": "", "HttpDomain": ""},
            "ISSUED",
            "go together, or none, and the names differ; got '', 'live.example.com', ",
        ),
        (
            {"WebSocketDomain": "api.example.com"},
            "ISSUED",
            "the names differ; got 'api.example.com', 'api.example.com', ",
        ),
        ({}, "PENDING_VALIDATION", "got one that is PENDING_VALIDATION, for *.example.com, example.net"),
        ({"HttpDomain": "a.b.example.com"}, "ISSUED", "a certificate that is ISSUED for a.b.example.com is needed"),
        ({"HttpDomain": "example.net"}, "ISSUED", "DomainZoneId: example.net is not in the zone example.com"),
    ],
)
def test_own_names_need_a_certificate_and_a_zone_for_both(
    ready: Callable[..., None], values: dict[str, str], status: str, part: str | None
) -> None:
    names = {"DomainName": "*.example.com", "SubjectAlternativeNames": ["example.net"]}
    zone = {"Id": "Z0123", "Name": "example.com.", "CallerReference": "1"}
    ready(DescribeCertificate={"Certificate": {**names, "Status": status}}, GetHostedZone={"HostedZone": zone})

    found = details(with_(plan("dev"), **(NAMES | values)))

    assert found.keys() == ({"domains"} if part else set())
    assert (part or "") in found.get("domains", "")


DECLARED = parse(preflight.TEMPLATE.read_text(), preflight.TEMPLATE)["Parameters"]
FORMS = {"AllowedValues", "AllowedPattern", "MinValue"}


@pytest.mark.parametrize("name", [name for name, spec in DECLARED.items() if FORMS & spec.keys()])
def test_a_parameter_out_of_form_is_refused_with_what_is_allowed(name: str) -> None:
    described = DECLARED[name].get("ConstraintDescription")
    allowed = f"allowed: {described}" if described else "must be "

    with pytest.raises(StageError, match=re.escape(f'{name}: got "no such", {allowed}')):
        parameters.values({name: DECLARED[name]}, {name: "no such"})


@pytest.mark.parametrize(
    ("values", "check", "part"),
    [
        ({"Features": "reactions"}, "features", "Features has reactions without edits, which it needs"),
        ({"Features": "editz"}, "features", "there is no feature 'editz'"),
        ({"MinimumTableUnits": "5000"}, "numbers", "MaximumTableUnits must be as large; it is 4000"),
        ({"ApiGatewayLogsRole": "exists"}, "API Gateway", "the account has no role"),
        ({"StageName": "awsdev"}, "names", "may not have the word aws"),
        ({"AlarmTopicArn": TOPIC.replace("us-east-1", "eu-west-1")}, "notices", "must be in us-east-1, as the stage"),
        ({"TellTarget": "arn:aws:sqs:eu-west-1:123456789012:told"}, "notices", "TellTarget must be in us-east-1"),
        ({"CostAnomaly": "20"}, "notices", "MonthlyBudget and CostAnomaly write to CostEmail: set it to an address"),
        ({"AlarmTopicArn": TOPIC}, "notices", f"AlarmTopicArn: there is no topic {TOPIC}"),
        ({"Zones": "us-east-1z,us-east-1a,us-east-1b"}, "zones", "us-east-1z has no mq.m7g.medium"),
        ({"BrokerDeploymentMode": "CLUSTER_MULTI_AZ"}, "zones", "as CLUSTER_MULTI_AZ"),
    ],
)
def test_a_stage_that_does_not_fit_the_account_fails(
    ready: None, values: dict[str, str], check: str, part: str
) -> None:
    found = details(with_(plan("dev"), **values))

    assert found.keys() == {check}
    assert part in found[check]


def test_prod_without_a_topic_for_its_alarms_is_refused_with_what_to_set(ready: Callable[..., None]) -> None:
    ready(GetTopicAttributes={"Attributes": {"SubscriptionsConfirmed": "1"}})

    assert "Make a topic (aws sns create-topic" in details(plan("prod"))["notices"]
    assert "notices" not in details(with_(plan("prod"), AlarmTopicArn=TOPIC))


def test_a_topic_without_a_confirmed_subscription_is_refused(ready: Callable[..., None]) -> None:
    ready(GetTopicAttributes={"Attributes": {"SubscriptionsConfirmed": "0", "SubscriptionsPending": "1"}})

    found = details(with_(plan("dev"), AlarmTopicArn=TOPIC))

    assert found.keys() == {"notices"}
    assert f"{TOPIC} has no confirmed subscription" in found["notices"]


@pytest.mark.parametrize(
    "name", ["Headrace-dev", "headrace_dev", "headrace-of-a-name-that-is-too-long", "headrace--dev"]
)
def test_a_name_that_broker_or_cache_refuse_is_refused(ready: Callable[..., None], name: str) -> None:
    ready()

    found = details(replace(plan("dev"), stack=Stack(name)))

    allowed = f"take at most 32 lower-case letters, digits and single hyphens, got {name!r}"
    assert found == {"names": f"stack_name: broker and cache are named after the stack, and {allowed}"}


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [({"accountPlanType": "FREE"}, "unknown"), (no_plan, "pass")],
    ids=["free", "none"],
)
def test_an_account_of_the_free_plan_is_named(ready: Callable[..., None], answer: Any, verdict: str) -> None:
    ready(GetAccountPlanState=answer)

    assert verdicts(plan("dev"))["account plan"] == verdict


def test_a_stage_without_reservations_fits_a_new_account(ready: Callable[..., None]) -> None:
    ready(GetAccountSettings=quota(10))

    assert details(with_(plan("dev"), ReserveConcurrency="false")) == {}


def test_a_cluster_needs_three_zones_and_prod_endpoints_in_two(ready: Callable[..., None]) -> None:
    ready(
        DescribeBrokerInstanceOptions=offered("us-east-1a", "us-east-1b", mode="CLUSTER_MULTI_AZ"),
        DescribeVpcEndpointServices=endpoints(SERVICES, "us-east-1a"),
    )

    missing = details(plan("prod"))["zones"]

    assert "us-east-1c has no mq.m7g.large" in missing
    assert "us-east-1b has no com.amazonaws.us-east-1.sts" in missing


def test_without_credentials_nothing_more_is_asked(account: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_DEFAULT_REGION")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/dev/null")

    assert details(plan("dev")) == {"identity": "no Region: set AWS_DEFAULT_REGION, or run aws configure"}


@pytest.fixture
def existing(ready: Callable[..., None]) -> Callable[..., Plan]:
    """Lets CloudFormation have the stack of dev."""

    def make(status: str, **has: str) -> Plan:
        given = [{"ParameterKey": key, "ParameterValue": value} for key, value in has.items()]
        ready(DescribeStacks={"Stacks": [{"StackStatus": status, "Parameters": given}]})
        return plan("dev")

    return make


@pytest.mark.parametrize(
    ("status", "verdict"),
    [
        ("UPDATE_COMPLETE", "pass"),
        ("CREATE_FAILED", "pass"),
        ("ROLLBACK_COMPLETE", "fail"),
        ("UPDATE_ROLLBACK_FAILED", "fail"),
        ("UPDATE_IN_PROGRESS", "fail"),
    ],
)
def test_a_stack_that_exists_needs_a_status_that_can_be_updated(
    existing: Callable[..., Plan], status: str, verdict: str
) -> None:
    found = verdicts(existing(status))

    assert found["stack"] == verdict
    assert not CHECKS.keys() & found.keys()


def test_the_topic_that_a_stack_has_counts_when_samconfig_names_none(existing: Callable[..., Plan]) -> None:
    wanted = existing("UPDATE_COMPLETE", StageName="prod", AlarmTopicArn=TOPIC)
    prod = Plan(wanted.stack, wanted.resources, wanted.values, {"StageName": "prod"}, wanted.region)

    assert details(prod) == {"notices": f"AlarmTopicArn: there is no topic {TOPIC}"}


def test_the_features_that_a_stack_has_count_when_samconfig_names_none(existing: Callable[..., Plan]) -> None:
    assert "there is no feature 'editz'" in details(existing("UPDATE_COMPLETE", Features="editz"))["features"]


def test_a_stack_whose_first_change_set_was_not_confirmed_is_new(existing: Callable[..., Plan]) -> None:
    assert CHECKS.keys() <= verdicts(existing("REVIEW_IN_PROGRESS")).keys()


@pytest.mark.parametrize(
    ("has", "wants", "part"),
    [
        ({"Zones": ""}, {"Zones": ",".join(ZONES)}, "Zones cannot be changed"),
        ({"WarmWriteUnits": "12000"}, {"WarmWriteUnits": "0"}, "cannot be lowered: headrace-dev has 12000"),
        ({}, {"TimeShardsRead": "32", "TimeShardsWritten": "32"}, 'deploy TimeShardsRead = "32" before'),
        ({"TimeShardsRead": "32"}, {"TimeShardsRead": "8"}, "with a lower TimeShardsRead than 32"),
        ({"PersistConcurrency": "20"}, {"BrokerCount": "2", "ChatQueues": "16"}, "38 persist queues"),
        ({"MaximumTableUnits": "100"}, {"MinimumTableUnits": "200"}, "MaximumTableUnits must be as large; it is 100"),
    ],
)
def test_what_cannot_be_changed_later_fails_for_a_stack_that_exists(
    existing: Callable[..., Plan], has: dict[str, str], wants: dict[str, str], part: str
) -> None:
    assert part in details(with_(existing("UPDATE_COMPLETE", **has), **wants))["stack"]


@pytest.mark.parametrize(
    ("has", "wants"),
    [
        ({}, {"TimeShardsRead": "32"}),
        ({"TimeShardsRead": "32", "TimeShardsWritten": "8"}, {"TimeShardsWritten": "32"}),
        ({"TimeShardsRead": "32", "TimeShardsWritten": "32"}, {"TimeShardsWritten": "8"}),
    ],
)
def test_time_shards_are_read_before_they_are_written(
    existing: Callable[..., Plan], has: dict[str, str], wants: dict[str, str]
) -> None:
    assert verdicts(with_(existing("UPDATE_COMPLETE", **has), **wants))["stack"] == "pass"


def test_more_warm_write_units_are_raised_alone(existing: Callable[..., Plan]) -> None:
    wanted = with_(existing("UPDATE_COMPLETE", WarmWriteUnits="0"), WarmWriteUnits="12000")

    (found,) = [finding for finding in examine(wanted) if finding.check == "stack"]
    assert (found.verdict, found.detail.partition("; ")[2][:20]) == ("pass", "raise WarmWriteUnits")
