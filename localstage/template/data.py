"""Reads tables, queues, brokers and custom resources."""

from __future__ import annotations

import logging
from typing import Any

from localstage.core.errors import TemplateError
from localstage.core.model import Broker, CustomResource, Queue, Table
from localstage.template.intrinsics import as_text
from localstage.template.resources import Resource, Stack

log = logging.getLogger("localstage.template")

_INDEX_PROPERTIES = ("IndexName", "KeySchema", "Projection")
_QUEUE_ATTRIBUTES = (
    "DelaySeconds",
    "MaximumMessageSize",
    "MessageRetentionPeriod",
    "ReceiveMessageWaitTimeSeconds",
    "VisibilityTimeout",
)


def read_tables(stack: Stack) -> dict[str, Table]:
    """Every table, reduced to what CreateTable of an emulator accepts."""
    return {one.id: _table(stack, one) for one in stack.all("AWS::DynamoDB::Table")}


def _table(stack: Stack, resource: Resource) -> Table:
    name = stack.ref(resource.id)
    definition: dict[str, Any] = {
        "TableName": name,
        "AttributeDefinitions": resource.items("AttributeDefinitions"),
        "KeySchema": resource.items("KeySchema"),
        "BillingMode": "PAY_PER_REQUEST",
    }
    if indexes := resource.items("GlobalSecondaryIndexes"):
        definition["GlobalSecondaryIndexes"] = [
            {name: index[name] for name in _INDEX_PROPERTIES if name in index} for index in indexes
        ]
    ttl = resource.inner("TimeToLiveSpecification", resource.mapping("TimeToLiveSpecification"))
    return Table(
        id=resource.id,
        name=name,
        definition=definition,
        ttl_attribute=ttl.text("AttributeName") if ttl.has("AttributeName") and ttl.flag("Enabled", True) else None,
    )


def read_queues(stack: Stack) -> dict[str, Queue]:
    """Every queue; the queue that one redrives to must be in the template too."""
    return {one.id: _queue(stack, one) for one in stack.all("AWS::SQS::Queue")}


def _queue(stack: Stack, resource: Resource) -> Queue:
    attributes = {name: resource.text(name) for name in _QUEUE_ATTRIBUTES if resource.has(name)}
    dead_letter_id = max_receive_count = None
    policy = resource.properties.get("RedrivePolicy")
    if policy:
        redrive = resource.inner("RedrivePolicy", policy)
        target = redrive.text("deadLetterTargetArn")
        dead_letter_id = stack.by_attribute(resource.type, "Arn", target)
        if dead_letter_id is None:
            raise TemplateError(f"{redrive.id}.deadLetterTargetArn: {target} is not a queue of this template")
        max_receive_count = redrive.integer("maxReceiveCount", low=1, high=1000)
    return Queue(
        id=resource.id,
        name=stack.attribute(resource.id, "QueueName"),
        attributes=attributes,
        dead_letter_id=dead_letter_id,
        max_receive_count=max_receive_count,
    )


def read_brokers(stack: Stack) -> dict[str, Broker]:
    """Every RabbitMQ broker with its administrator."""
    found = {}
    for resource in stack.all("AWS::AmazonMQ::Broker"):
        if resource.text("EngineType").upper() != "RABBITMQ":
            log.warning("%s is not run: the local stage has RabbitMQ, not %s", resource.id, resource.text("EngineType"))
            continue
        users = resource.items("Users")
        if len(users) != 1:
            raise TemplateError(f"{resource.id}.Users: got {len(users)}, Amazon MQ for RabbitMQ needs exactly one")
        user = resource.inner("Users[0]", users[0])
        arn = stack.attribute(resource.id, "Arn")
        found[resource.id] = Broker(resource.id, arn, user.text("Username"), user.text("Password"))
    return found


def read_custom_resources(stack: Stack) -> dict[str, CustomResource]:
    """Every custom resource that a function of the template makes, in the template's order."""
    found = {}
    for resource in stack.all("Custom::*", "AWS::CloudFormation::CustomResource"):
        function_id = stack.function_id(resource.text("ServiceToken"))
        if function_id is None:
            log.warning("%s is not run: its ServiceToken is not a function of this template", resource.id)
            continue
        found[resource.id] = CustomResource(resource.id, resource.type, function_id, _texts(dict(resource.properties)))
    return found


def _texts(value: Any) -> Any:
    """CloudFormation hands every scalar to a custom resource as text."""
    if isinstance(value, dict):
        return {key: _texts(item) for key, item in value.items()}
    return [_texts(item) for item in value] if isinstance(value, list) else as_text(value)
