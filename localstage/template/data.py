"""Reads tables, queues, buckets, secrets, brokers and custom resources."""

from __future__ import annotations

import json
import secrets as random
import string
from pathlib import Path
from typing import Any

from localstage.core.atomic_write import write_atomically
from localstage.core.errors import TemplateError
from localstage.core.model import Broker, Bucket, CustomResource, Queue, Secret, Table
from localstage.template.intrinsics import as_text
from localstage.template.resources import Properties, Stack

_INDEX_PROPERTIES = ("IndexName", "KeySchema", "Projection")
_QUEUE_ATTRIBUTES = ("DelaySeconds", "MessageRetentionPeriod", "ReceiveMessageWaitTimeSeconds", "VisibilityTimeout")
_CORS_NAMES = {"ExposedHeaders": "ExposeHeaders", "Id": "ID", "MaxAge": "MaxAgeSeconds"}
"""CloudFormation's names in a CORS rule that S3's API has otherwise."""
_ALPHABET = string.ascii_letters + string.digits


def read_tables(stack: Stack) -> dict[str, Table]:
    """Every table, reduced to what CreateTable of an emulator accepts."""

    def table(id: str, properties: Properties) -> Table:
        name = stack.value(id)
        definition = {
            "TableName": name,
            "AttributeDefinitions": properties["AttributeDefinitions"],
            "KeySchema": properties["KeySchema"],
            "BillingMode": "PAY_PER_REQUEST",
        }
        if indexes := properties.get("GlobalSecondaryIndexes"):
            definition["GlobalSecondaryIndexes"] = [{name: one[name] for name in _INDEX_PROPERTIES} for one in indexes]
        if stream := properties.get("StreamSpecification"):
            definition["StreamSpecification"] = {"StreamEnabled": True, "StreamViewType": stream["StreamViewType"]}
        return Table(id, name, definition, properties.get("TimeToLiveSpecification", {}).get("AttributeName"))

    return stack.read("AWS::DynamoDB::Table", table)


def read_queues(stack: Stack) -> dict[str, Queue]:
    """Every queue; the queue that one redrives to must be in the template too."""

    def queue(id: str, properties: Properties) -> Queue:
        attributes = {name: as_text(properties[name]) for name in _QUEUE_ATTRIBUTES if name in properties}
        dead_letter_id = max_receive_count = None
        if redrive := properties.get("RedrivePolicy"):
            dead_letter_id = stack.id_of("AWS::SQS::Queue", redrive["deadLetterTargetArn"])
            if dead_letter_id is None:
                raise TemplateError(f"{id}.RedrivePolicy: its target is not a queue of this template")
            max_receive_count = int(redrive["maxReceiveCount"])
        return Queue(id, stack.value(id, "QueueName"), attributes, dead_letter_id, max_receive_count)

    return stack.read("AWS::SQS::Queue", queue)


def read_buckets(stack: Stack) -> dict[str, Bucket]:
    """Every bucket with its CORS rules."""

    def bucket(id: str, properties: Properties) -> Bucket:
        rules = properties.get("CorsConfiguration", {}).get("CorsRules", [])
        named = [{_CORS_NAMES.get(name, name): value for name, value in rule.items()} for rule in rules]
        return Bucket(id, stack.value(id), named)

    return stack.read("AWS::S3::Bucket", bucket)


def read_secrets(stack: Stack, state_dir: Path) -> dict[str, Secret]:
    """Every secret with its value, which is also added to the resolver.

    Generated values are kept in ``state_dir/secrets.json`` (0600).
    """
    path = state_dir / "secrets.json"
    try:
        kept: dict[str, dict[str, str]] = json.loads(path.read_bytes()) if path.exists() else {}
    except (OSError, ValueError):
        raise TemplateError(f"{path} is damaged; delete it and its data: make reset") from None
    known = dict(kept)

    def secret(id: str, properties: Properties) -> Secret:
        value = properties.get("SecretString", "")
        if wanted := properties.get("GenerateSecretString"):
            if id not in kept:
                kept[id] = {"value": _generate(wanted)}
            value = kept[id]["value"]
        arn = stack.value(id)
        stack.resolver.secrets[arn] = value
        return Secret(id, arn.rpartition(":secret:")[2], arn, value)

    found = stack.read("AWS::SecretsManager::Secret", secret)
    if kept != known:
        write_atomically(path, json.dumps(kept, indent=1))
    return found


def _generate(wanted: dict[str, Any]) -> str:
    password = "".join(random.choice(_ALPHABET) for _ in range(int(wanted.get("PasswordLength", 32))))
    if "GenerateStringKey" not in wanted:
        return password
    return json.dumps({**json.loads(wanted["SecretStringTemplate"]), wanted["GenerateStringKey"]: password})


def read_brokers(stack: Stack) -> dict[str, Broker]:
    """Every RabbitMQ broker with its administrator."""

    def broker(id: str, properties: Properties) -> Broker:
        (user,) = properties["Users"]  # Amazon MQ for RabbitMQ needs exactly one
        return Broker(id, stack.value(id, "Arn"), user["Username"], user["Password"])

    return stack.read("AWS::AmazonMQ::Broker", broker)


def read_custom_resources(stack: Stack) -> dict[str, CustomResource]:
    """Every custom resource, in the template's order."""
    types = {id: one["Type"] for id, one in stack.present.items()}

    def custom(id: str, properties: Properties) -> CustomResource:
        return CustomResource(id, types[id], stack.function_id(properties["ServiceToken"]), _texts(properties))

    return stack.read("Custom", custom)


def _texts(value: Any) -> Any:
    """CloudFormation hands every scalar to a custom resource as text."""
    if isinstance(value, dict):
        return {key: _texts(item) for key, item in value.items()}
    return [_texts(item) for item in value] if isinstance(value, list) else as_text(value)
