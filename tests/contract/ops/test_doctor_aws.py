"""The doctor's checks with AWS credentials, against moto."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from typing import Any

import boto3
import pytest

from headrace_client.cli.doctor_stage import Finding, run
from ops.aws import Stack
from ops.doctor_aws import addresses, alarms, examine_stack, releases
from tests.contract.ops.conftest import listed

STACK = {
    "Resources": {
        "RetryQueue": {"Type": "AWS::SQS::Queue"},
        "DeadLetterQueue": {"Type": "AWS::SQS::Queue"},
        "Topic": {"Type": "AWS::SNS::Topic"},
    }
}


ALARM: Any = {
    "AlarmName": "dead-letters",
    "Namespace": "Headrace",
    "MetricName": "Dead",
    "Statistic": "Sum",
    "Period": 60,
    "EvaluationPeriods": 1,
    "Threshold": 0,
    "ComparisonOperator": "GreaterThanThreshold",
}


def found(name: str) -> dict[str, Finding]:
    return {finding.check: finding for finding in examine_stack(name)}


@pytest.fixture
def stack(account: str) -> dict[str, str]:
    """A stack with queues; its physical ids by logical id."""
    name = f"headrace-{uuid.uuid4().hex[:8]}"
    client = boto3.client("cloudformation")
    client.create_stack(StackName=name, TemplateBody=json.dumps(STACK))
    resources = client.list_stack_resources(StackName=name)["StackResourceSummaries"]
    return {"name": name, **{each["LogicalResourceId"]: each["PhysicalResourceId"] for each in resources}}


def test_the_depths_of_queues_are_shown(stack: dict[str, str]) -> None:
    boto3.client("sqs").send_message(QueueUrl=stack["RetryQueue"], MessageBody="waits")

    finding = found(stack["name"])["queues"]

    assert (finding.verdict, finding.detail) == ("pass", "DeadLetterQueue 0, RetryQueue 1")


def test_a_dead_letter_fails(stack: dict[str, str]) -> None:
    boto3.client("sqs").send_message(QueueUrl=stack["DeadLetterQueue"], MessageBody="dead")

    assert found(stack["name"])["queues"].verdict == "fail"


def test_an_alarm_that_is_on_fails_with_its_reason(stack: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """moto makes no alarms for stacks, so the alarm is made beside it."""
    cloudwatch = boto3.client("cloudwatch")
    cloudwatch.put_metric_alarm(**ALARM)
    cloudwatch.put_metric_alarm(**{**ALARM, "AlarmName": "maintenance"})
    cloudwatch.set_alarm_state(AlarmName="maintenance", StateValue="ALARM", StateReason="it is Sunday")
    cloudwatch.set_alarm_state(AlarmName="dead-letters", StateValue="INSUFFICIENT_DATA", StateReason="new")
    ids = {"Monitoring/DeadLettersAlarm": "dead-letters", "Monitoring/MaintenanceAlarm": "maintenance"}
    monkeypatch.setattr(Stack, "ids", lambda *_: ids)
    quiet = run("alarms", lambda: alarms(Stack(stack["name"])))
    assert (quiet.verdict, quiet.detail) == ("pass", "1 alarms are quiet; without data: dead-letters")

    cloudwatch.set_alarm_state(AlarmName="dead-letters", StateValue="ALARM", StateReason="3 letters")

    finding = run("alarms", lambda: alarms(Stack(stack["name"])))
    assert (finding.verdict, finding.detail) == ("fail", "dead-letters: 3 letters")


def test_what_a_stack_does_not_have_is_unknown(stack: dict[str, str]) -> None:
    findings = found(stack["name"])

    assert {findings[check].verdict for check in ("mappings", "deployments", "alarms")} == {"unknown"}


@pytest.mark.parametrize(
    ("state", "result", "verdict"),
    [
        ("Enabled", "OK", "pass"),
        ("Enabled", "No records processed", "pass"),
        ("Disabled", "", "fail"),
        ("Enabled", "PROBLEM: Cannot connect to the broker", "fail"),
    ],
)
def test_a_mapping_is_well_while_it_is_enabled_and_polls(
    state: str, result: str, verdict: str, plays: Callable[..., None]
) -> None:
    """moto has no RabbitMQ mappings, so AWS's answers are played."""
    mapping = ("AWS::Lambda::EventSourceMapping", "Persist0", str(uuid.uuid4()))
    plays(
        **listed(mapping, ("AWS::ApiGatewayV2::Api", "WebSocketApi", "abc123")),
        GetEventSourceMapping={"State": state, "LastProcessingResult": result},
        GetStages={"Items": [{"StageName": "dev", "LastDeploymentStatusMessage": "Successfully deployed stage"}]},
    )

    findings = found("headrace-dev")

    assert (findings["mappings"].verdict, findings["deployments"].verdict) == (verdict, "pass")


@pytest.mark.parametrize(
    ("state", "pending", "verdict"),
    [("RUNNING", None, "pass"), ("REBOOT_IN_PROGRESS", None, "fail"), ("RUNNING", {"Id": "c-2"}, "pass")],
)
def test_a_broker_is_well_while_it_runs_with_its_configuration(
    state: str, pending: dict[str, str] | None, verdict: str, plays: Callable[..., None]
) -> None:
    """A configuration that is pending comes with the next restart."""
    plays(
        **listed(("AWS::AmazonMQ::Broker", "Broker", "b-1")),
        DescribeBroker={"BrokerState": state, "Configurations": {"Current": {"Id": "c-1"}, "Pending": pending}},
    )

    finding = found("headrace-dev")["brokers"]
    assert (finding.verdict, "at its next restart Broker takes a new one" in finding.detail) == (verdict, bool(pending))


def configuration(release: str) -> dict[str, Any]:
    return {"Description": release, "CodeSha256": "abc", "Environment": {"Variables": {}}, "Layers": []}


@pytest.mark.parametrize(
    ("serving", "weights", "verdict", "detail"),
    [
        ("new", {}, "pass", "new"),
        ("old", {}, "fail", "ReadRoomAliaslive: serves old, deployed is new"),
        ("new", {"2": 0.1}, "fail", "a deployment is not finished"),
    ],
)
def test_an_alias_that_serves_an_older_release_fails(
    serving: str, weights: dict[str, float], verdict: str, detail: str, plays: Callable[..., None]
) -> None:
    alias = "arn:aws:lambda:us-east-1:123456789012:function:read-room:live"
    plays(
        **listed(("AWS::Lambda::Alias", "ReadRoomAliaslive", alias)),
        GetAlias={"RoutingConfig": {"AdditionalVersionWeights": weights}},
        GetFunctionConfiguration=lambda path: configuration(serving if "live" in path else "new"),
    )

    finding = run("releases", lambda: releases(Stack("headrace-dev")))

    assert finding.verdict == verdict
    assert detail in finding.detail


def test_the_addresses_of_a_stage_are_the_outputs_of_its_stack(account: str) -> None:
    name = f"headrace-{uuid.uuid4().hex[:8]}"
    outputs = {"HttpUrl": {"Value": "https://abc"}, "WebSocketUrl": {"Value": "wss://def/dev"}}
    client = boto3.client("cloudformation")
    client.create_stack(StackName=name, TemplateBody=json.dumps({**STACK, "Outputs": outputs}))

    assert addresses(name) == ("https://abc", "wss://def/dev")
