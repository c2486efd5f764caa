"""Reads event source mappings and schedules."""

from __future__ import annotations

import json
from pathlib import Path

from localstage.core.errors import TemplateError
from localstage.core.model import RabbitMqMapping, Schedule, SqsMapping, StreamMapping
from localstage.template import parameters
from localstage.template.intrinsics import as_text
from localstage.template.resources import Properties, Stack

_MAPPING = "AWS::Lambda::EventSourceMapping"
_WINDOW = "MaximumBatchingWindowInSeconds"


Mapping = RabbitMqMapping | SqsMapping | StreamMapping


def read_mappings(
    stack: Stack, root: Path
) -> tuple[dict[str, RabbitMqMapping], dict[str, SqsMapping], dict[str, StreamMapping]]:
    """The event source mappings on a RabbitMQ broker, on queues, and on streams of tables, without disabled ones.

    Those of nested stacks are among them, with the id of their stack before their own; their templates are in ``root``.

    Raises:
        TemplateError: another source, or a setting that Lambda refuses.
    """
    mappings: dict[str, Mapping | None] = {**stack.read(_MAPPING, lambda id, one: _mapping(stack, id, one))}
    for id, one in stack.present.items():
        if one["Type"] == "AWS::CloudFormation::Stack" and (inner := _nested(stack, id, root)) is not None:
            mappings |= {f"{id}{name}": _mapping(stack, f"{id}{name}", each) for name, each in inner.all(_MAPPING)}
    return (
        {id: one for id, one in mappings.items() if isinstance(one, RabbitMqMapping)},
        {id: one for id, one in mappings.items() if isinstance(one, SqsMapping)},
        {id: one for id, one in mappings.items() if isinstance(one, StreamMapping)},
    )


def _nested(stack: Stack, id: str, root: Path) -> Stack | None:
    """A nested stack; ``None`` if it has no mappings."""
    from localstage.template.document import parse  # only here: a template without nested mappings needs no YAML

    path = root / stack.present[id]["Properties"]["TemplateURL"]
    text = path.read_text(encoding="utf-8")
    if _MAPPING not in text:
        return None
    given = {name: as_text(value) for name, value in stack.properties(id)["Parameters"].items()}
    document = parse(text, path, given)
    return Stack(document, stack.resolver.nested(document, parameters.values(document["Parameters"], given)))


def _mapping(stack: Stack, id: str, mapping: Properties) -> Mapping | None:
    source, function_id = mapping["EventSourceArn"], stack.function_id(mapping["FunctionName"])
    if as_text(mapping.get("Enabled", True)) == "false":
        return None
    if broker_id := stack.id_of("AWS::AmazonMQ::Broker", source):
        access = {one["Type"]: one["URI"] for one in mapping["SourceAccessConfigurations"]}
        secret_id = stack.id_of("AWS::SecretsManager::Secret", access["BASIC_AUTH"], "Ref")
        if secret_id is None:
            raise TemplateError(f"{id}.SourceAccessConfigurations: BASIC_AUTH is not a secret of this template")
        return RabbitMqMapping(
            id=id,
            function_id=function_id,
            broker_id=broker_id,
            secret_id=secret_id,
            queue=mapping["Queues"][0],
            vhost=access.get("VIRTUAL_HOST", "/"),
            batch_size=int(mapping.get("BatchSize", 100)),
            window=int(mapping[_WINDOW]) if _WINDOW in mapping else None,
        )
    if queue_id := stack.id_of("AWS::SQS::Queue", source):
        _check_visibility(stack, queue_id, function_id)
        concurrency = mapping.get("ScalingConfig", {}).get("MaximumConcurrency")
        return SqsMapping(
            id=id,
            function_id=function_id,
            queue_id=queue_id,
            batch_size=int(mapping.get("BatchSize", 10)),
            maximum_concurrency=None if concurrency is None else int(concurrency),
            partial_response="ReportBatchItemFailures" in mapping.get("FunctionResponseTypes", ()),
        )
    if table_id := stack.id_of("AWS::DynamoDB::Table", source, "StreamArn"):
        return _stream_mapping(stack, id, mapping, table_id)
    known = "queues, RabbitMQ brokers and streams of tables"
    raise TemplateError(f"{id}: the local stage reads from {known} of this template, not {source}")


def _stream_mapping(stack: Stack, id: str, mapping: Properties, table_id: str) -> StreamMapping:
    if "StreamSpecification" not in stack.properties(table_id):
        raise TemplateError(f"{id}: {table_id} has no StreamSpecification")
    # What the stage does for every stream: a change of it would be another behaviour. It waits for no window.
    for name, value in {"StartingPosition": "TRIM_HORIZON", "MaximumRetryAttempts": -1}.items():
        if name in mapping and as_text(mapping[name]) != as_text(value):
            raise TemplateError(f"{id}.{name}: the local stage knows only {as_text(value)} for a stream")
    patterns = [json.loads(one["Pattern"]) for one in mapping.get("FilterCriteria", {}).get("Filters", ())]
    if any(pattern.keys() != {"eventName"} or "{" in str(pattern["eventName"]) for pattern in patterns):
        raise TemplateError(f"{id}.FilterCriteria: the local stage knows only names as eventName")
    failure_queue_id = None
    if destination := mapping.get("DestinationConfig"):
        failure_queue_id = stack.id_of("AWS::SQS::Queue", destination["OnFailure"]["Destination"])
        if failure_queue_id is None:
            raise TemplateError(f"{id}.DestinationConfig: it is not a queue of this template")
    age = int(mapping.get("MaximumRecordAgeInSeconds", -1))
    return StreamMapping(
        id=id,
        function_id=stack.function_id(mapping["FunctionName"]),
        table_id=table_id,
        batch_size=int(mapping.get("BatchSize", 100)),
        lanes=int(mapping.get("ParallelizationFactor", 1)),
        partial_response="ReportBatchItemFailures" in mapping.get("FunctionResponseTypes", ()),
        maximum_age=None if age == -1 else age,
        failure_queue_id=failure_queue_id,
        bisects=as_text(mapping.get("BisectBatchOnFunctionError", False)) == "true",
        event_names=frozenset(name for pattern in patterns for name in pattern["eventName"]),
    )


def _check_visibility(stack: Stack, queue_id: str, function_id: str) -> None:
    visibility = int(stack.properties(queue_id).get("VisibilityTimeout", 30))
    timeout = int(stack.properties(function_id).get("Timeout", 3))
    if visibility < timeout:
        shorter = f"{visibility} s is shorter than {function_id}.Timeout ({timeout} s)"
        raise TemplateError(f"{queue_id}.VisibilityTimeout: {shorter}")


def read_schedules(stack: Stack) -> dict[str, Schedule]:
    """Every scheduled rule that is enabled; its target is a function of the template."""

    def schedule(id: str, rule: Properties) -> Schedule | None:
        (target,) = rule["Targets"]
        if rule.get("State") == "DISABLED":
            return None
        return Schedule(id, stack.function_id(target["Arn"]), rule["ScheduleExpression"])

    return stack.read("AWS::Events::Rule", schedule)
