"""Checks of a stack that need AWS credentials; each only reads."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

from headrace_client.cli.doctor_stage import CannotTell, Failed, Finding, run_all
from ops.aws import Stack, call


def addresses(name: str) -> tuple[str, str]:
    """The URLs of the HTTP and the WebSocket API of a stack.

    Raises:
        CannotTell: no such stack, or credentials that may not read it.
    """
    found = Stack(name).described()
    if found is None:
        raise CannotTell(f"there is no stack {name} in this account and Region")
    outputs = {each["OutputKey"]: each["OutputValue"] for each in found.get("Outputs", ())}
    if missing := {"HttpUrl", "WebSocketUrl"} - outputs.keys():
        raise CannotTell(f"the stack {name} has no output {', '.join(sorted(missing))}")
    return outputs["HttpUrl"], outputs["WebSocketUrl"]


def examine_stack(name: str) -> Iterator[Finding]:
    """Run all checks of the stack ``name``."""
    return run_all(CHECKS, Stack(name))


def mappings(stack: Stack) -> str:
    """Every event source mapping is enabled, and had no problem when it was last polled."""
    found = _needed(stack.ids("AWS::Lambda::EventSourceMapping"), "event source mappings")
    wrong = []
    for logical, uuid in found.items():
        mapping = call("lambda", "get_event_source_mapping", UUID=uuid)
        result = mapping.get("LastProcessingResult") or ""
        if mapping.get("State") != "Enabled" or result.startswith("PROBLEM"):
            reason = mapping.get("StateTransitionReason") or ""
            wrong.append(f"{logical}: {mapping.get('State')} {result} {reason}".strip())
    if wrong:
        raise Failed("; ".join(wrong))
    return f"{len(found)} mappings are Enabled"


def deployments(stack: Stack) -> str:
    """The last deployment of each API's stage succeeded."""
    apis = _needed(stack.ids("AWS::ApiGatewayV2::Api"), "APIs")
    wrong, count = [], 0
    for logical, api in apis.items():
        for stage in call("apigatewayv2", "get_stages", ApiId=api).get("Items", ()):
            count += 1
            text = str(stage.get("LastDeploymentStatusMessage") or "")
            if text and not text.startswith("Successfully deployed"):
                wrong.append(f"{logical} {stage.get('StageName')}: {text}")
    if wrong or not count:
        raise Failed("; ".join(wrong) or "no API has a stage")
    return f"{count} stages of {len(apis)} APIs are deployed"


def releases(stack: Stack) -> str:
    """The alias of each function of the HTTP API serves what was deployed last, and nothing else."""
    wrong, names = [], set()
    for logical, alias in _needed(stack.ids("AWS::Lambda::Alias"), "aliases").items():
        function, _, name = alias.rpartition(":")
        weights = call("lambda", "get_alias", FunctionName=function, Name=name).get("RoutingConfig") or {}
        if weights.get("AdditionalVersionWeights"):
            wrong.append(f"{logical}: a part of the requests has another version; a deployment is not finished")
        serving, latest = (
            call("lambda", "get_function_configuration", FunctionName=each) for each in (alias, function)
        )
        names.add(str(serving.get("Description")))
        parts = ("Description", "CodeSha256", "Environment", "Layers")
        if any(serving.get(part) != latest.get(part) for part in parts):
            wrong.append(f"{logical}: serves {serving.get('Description')}, deployed is {latest.get('Description')}")
    if wrong:
        raise Failed("; ".join(wrong))
    return ", ".join(sorted(names))


def alarms(stack: Stack) -> str:
    """No alarm is in the state ALARM, but that of the maintenance window. The detail has those that have no data."""
    by_id = _needed(stack.ids("AWS::CloudWatch::Alarm"), "alarms")
    names = [name for logical, name in by_id.items() if not logical.endswith("MaintenanceAlarm")]
    ringing, waiting = [], []
    for start in range(0, len(names), 100):
        for each in call("cloudwatch", "describe_alarms", AlarmNames=names[start : start + 100])["MetricAlarms"]:
            if each["StateValue"] == "ALARM":
                ringing.append(f"{each['AlarmName']}: {each.get('StateReason', '')}"[:200])
            elif each["StateValue"] == "INSUFFICIENT_DATA":
                waiting.append(each["AlarmName"])
    if ringing:
        raise Failed("; ".join(ringing))
    return f"{len(names)} alarms are quiet" + (f"; without data: {', '.join(waiting)}" if waiting else "")


def brokers(stack: Stack) -> str:
    """Every broker runs with a configuration, which has the limit of connections; or says that a new one waits."""
    wrong, later, found = [], [], _needed(stack.ids("AWS::AmazonMQ::Broker"), "brokers")
    for logical, id_ in found.items():
        broker = call("mq", "describe_broker", BrokerId=id_)
        configuration = broker.get("Configurations", {})
        if broker["BrokerState"] != "RUNNING" or not configuration.get("Current"):
            wrong.append(f"{logical} is {broker['BrokerState']}, its configuration {json.dumps(configuration)}")
        later += [logical] if configuration.get("Pending") else []
    if wrong:
        raise Failed("; ".join(wrong))
    waits = f"; at its next restart {', '.join(later)} takes a new one" if later else ""
    return f"{len(found)} run with their configuration{waits}"


def queues(stack: Stack) -> str:
    """The dead-letter queue is empty; the detail has the depth of every queue."""
    found = depths(stack)
    detail = ", ".join(f"{name} {depth}" for name, depth in sorted(found.items()))
    if found.get("DeadLetterQueue"):
        raise Failed(f"{detail}; see make dead-letters")
    return detail


def depths(stack: Stack) -> dict[str, int]:
    """The messages of each queue, by its logical id.

    Raises:
        CannotTell: the stack has no queues, or credentials that may not read them.
    """
    found = {}
    for logical, url in _needed(stack.ids("AWS::SQS::Queue"), "queues").items():
        names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
        attributes = call("sqs", "get_queue_attributes", QueueUrl=url, AttributeNames=names)["Attributes"]
        found[logical] = sum(int(attributes.get(name, 0)) for name in names)
    return found


CHECKS: dict[str, Callable[[Stack], str]] = {
    "mappings": mappings,
    "deployments": deployments,
    "releases": releases,
    "brokers": brokers,
    "alarms": alarms,
    "queues": queues,
}


def _needed(found: dict[str, str], what: str) -> dict[str, str]:
    if not found:
        raise CannotTell(f"the stack has no {what}")
    return found
