"""Reads event source mappings and schedules."""

from __future__ import annotations

from localstage.core.errors import TemplateError
from localstage.core.model import RabbitMqMapping, Schedule, SqsMapping
from localstage.template.intrinsics import as_text
from localstage.template.resources import Properties, Stack

_WINDOW = "MaximumBatchingWindowInSeconds"


def read_mappings(stack: Stack) -> tuple[dict[str, RabbitMqMapping], dict[str, SqsMapping]]:
    """Every event source mapping on a RabbitMQ broker, and every one on a queue, without those that are disabled.

    Raises:
        TemplateError: another source, or a setting that Lambda refuses.
    """
    mappings = stack.read("AWS::Lambda::EventSourceMapping", lambda id, one: _mapping(stack, id, one))
    return (
        {id: one for id, one in mappings.items() if isinstance(one, RabbitMqMapping)},
        {id: one for id, one in mappings.items() if isinstance(one, SqsMapping)},
    )


def _mapping(stack: Stack, id: str, mapping: Properties) -> RabbitMqMapping | SqsMapping | None:
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
        batch_size = int(mapping.get("BatchSize", 10))
        if _WINDOW in mapping or batch_size > 10:
            raise TemplateError(
                f"{id}: the local stage has no {_WINDOW} of queues, and no BatchSize over 10 without it"
            )
        concurrency = mapping.get("ScalingConfig", {}).get("MaximumConcurrency")
        return SqsMapping(
            id=id,
            function_id=function_id,
            queue_id=queue_id,
            batch_size=batch_size,
            maximum_concurrency=None if concurrency is None else int(concurrency),
            partial_response="ReportBatchItemFailures" in mapping.get("FunctionResponseTypes", ()),
        )
    raise TemplateError(f"{id}: the local stage reads from queues and RabbitMQ brokers of this template, not {source}")


def _check_visibility(stack: Stack, queue_id: str, function_id: str) -> None:
    visibility = int(stack.properties(queue_id).get("VisibilityTimeout", 30))
    timeout = int(stack.properties(function_id).get("Timeout", 3))
    if visibility < timeout:
        raise TemplateError(
            f"{queue_id}.VisibilityTimeout: {visibility} s is shorter than {function_id}.Timeout ({timeout} s)"
        )


def read_schedules(stack: Stack) -> dict[str, Schedule]:
    """Every scheduled rule that is enabled; its target is a function of the template."""

    def schedule(id: str, rule: Properties) -> Schedule | None:
        (target,) = rule["Targets"]
        if rule.get("State") == "DISABLED":
            return None
        return Schedule(id, stack.function_id(target["Arn"]), rule["ScheduleExpression"], target.get("Input"))

    return {id: one for id, one in stack.read("AWS::Events::Rule", schedule).items() if one is not None}
