"""Reads event source mappings and schedules."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field

from localstage.core.errors import TemplateError
from localstage.core.model import RabbitMqMapping, Schedule, SqsMapping
from localstage.template.intrinsics import as_text
from localstage.template.resources import Resource, Stack

log = logging.getLogger("localstage.template")

_WINDOW = "MaximumBatchingWindowInSeconds"
_MAX_WINDOW = 300
_MAX_BATCH = 10_000
# Lambda has these for other sources; for RabbitMQ, tools accept them and they have no effect.
_NOT_FOR_RABBITMQ = ("FunctionResponseTypes", "DestinationConfig", "ScalingConfig", "MaximumRetryAttempts")


@dataclass(frozen=True)
class Mappings:
    """The event source mappings by kind."""

    rabbitmq: dict[str, RabbitMqMapping] = field(default_factory=dict)
    sqs: dict[str, SqsMapping] = field(default_factory=dict)


def read_mappings(stack: Stack) -> Mappings:
    """Every event source mapping on a queue or broker of the template; others are named in a warning.

    Raises:
        TemplateError: a setting that Lambda refuses.
    """
    found = Mappings()
    for resource in stack.all("AWS::Lambda::EventSourceMapping"):
        source = resource.text("EventSourceArn", "")
        function_id = stack.function_id(resource.text("FunctionName"))
        if function_id is None:
            raise TemplateError(f"{resource.id}.FunctionName is not a function of this template")
        if resource.has("FilterCriteria"):
            log.warning("%s: the local stage does not filter, the function gets every event", resource.id)
        if broker_id := stack.by_attribute("AWS::AmazonMQ::Broker", "Arn", source):
            found.rabbitmq[resource.id] = _rabbitmq(stack, resource, function_id, broker_id)
        elif queue_id := stack.by_attribute("AWS::SQS::Queue", "Arn", source):
            found.sqs[resource.id] = _sqs(stack, resource, function_id, queue_id)
        else:
            log.warning(
                "%s is not run: the local stage reads from queues and RabbitMQ brokers of this template, not from %s",
                resource.id,
                source or "a source without EventSourceArn",
            )
    return found


def _rabbitmq(stack: Stack, resource: Resource, function_id: str, broker_id: str) -> RabbitMqMapping:
    queues = resource.items("Queues")
    if len(queues) != 1:
        raise TemplateError(f"{resource.id}.Queues: got {len(queues)}, Lambda needs exactly one")
    for name in _NOT_FOR_RABBITMQ:
        if resource.has(name):
            log.warning("%s.%s does nothing: RabbitMQ mappings do not have it", resource.id, name)
    access = {one.get("Type"): as_text(one.get("URI")) for one in resource.items("SourceAccessConfigurations")}
    if "BASIC_AUTH" not in access:
        raise TemplateError(f"{resource.id}.SourceAccessConfigurations: BASIC_AUTH is missing")
    secrets = {stack.ref(one.id): one.id for one in stack.all("AWS::SecretsManager::Secret")}
    if access["BASIC_AUTH"] not in secrets:
        raise TemplateError(f"{resource.id}.SourceAccessConfigurations: BASIC_AUTH is not a secret of this template")
    window = resource.integer(_WINDOW, high=_MAX_WINDOW) if resource.has(_WINDOW) else None
    return RabbitMqMapping(
        id=resource.id,
        function_id=function_id,
        broker_id=broker_id,
        secret_id=secrets[access["BASIC_AUTH"]],
        queue=as_text(queues[0]),
        vhost=access.get("VIRTUAL_HOST", "/"),
        batch_size=resource.integer("BatchSize", 100, low=1, high=_MAX_BATCH),
        window=window,
        enabled=resource.flag("Enabled", True),
    )


def _sqs(stack: Stack, resource: Resource, function_id: str, queue_id: str) -> SqsMapping:
    batch_size = resource.integer("BatchSize", 10, low=1, high=_MAX_BATCH)
    window = resource.integer(_WINDOW, 0, high=_MAX_WINDOW)
    if batch_size > 10 and window < 1:
        raise TemplateError(f"{resource.id}.BatchSize: more than 10 needs {_WINDOW} of at least 1")
    visibility = stack.get(queue_id).integer("VisibilityTimeout", 30, high=43_200)
    timeout = stack.get(function_id).integer("Timeout", 3)
    if visibility < timeout:
        raise TemplateError(
            f"{queue_id}.VisibilityTimeout: {visibility} s is shorter than {function_id}.Timeout ({timeout} s)"
        )
    scaling = resource.inner("ScalingConfig", resource.mapping("ScalingConfig"))
    limited = scaling.has("MaximumConcurrency")
    return SqsMapping(
        id=resource.id,
        function_id=function_id,
        queue_id=queue_id,
        batch_size=batch_size,
        window=window,
        maximum_concurrency=scaling.integer("MaximumConcurrency", low=2, high=1000) if limited else None,
        partial_response="ReportBatchItemFailures" in resource.items("FunctionResponseTypes"),
        enabled=resource.flag("Enabled", True),
    )


def read_schedules(stack: Stack) -> dict[str, Schedule]:
    """Every scheduled rule whose target is a function of the template."""
    found: dict[str, Schedule] = {}
    for rule in stack.all("AWS::Events::Rule"):
        expression = rule.text("ScheduleExpression", "")
        if not expression:
            log.warning("%s is not run: the local stage has schedules, not event patterns", rule.id)
            continue
        targets = rule.items("Targets")
        for target in targets:
            one = rule.inner("Targets", target)
            name = rule.id if len(targets) == 1 else f"{rule.id}.{one.text('Id')}"
            _add(found, stack, name, one, expression, rule.text("State", "ENABLED"))
    return found


def _add(found: dict[str, Schedule], stack: Stack, name: str, target: Resource, expression: str, state: str) -> None:
    function_id = stack.function_id(target.text("Arn"))
    if function_id is None:
        log.warning("%s is not run: its target is not a function of this template", name)
        return
    text = target.text("Input") if target.has("Input") else None
    found[name] = Schedule(name, function_id, expression, text, enabled=state.startswith("ENABLED"))
