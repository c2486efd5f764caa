"""Creates the tables, queues, buckets and secrets of a model on the stage's services, as a deployment would on AWS.

Of an earlier start, tables are compared; queues, secrets and the CORS rules of buckets become those of the model.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any

from localstage.core.errors import ServiceError, TemplateError
from localstage.core.model import Bucket, Queue, Secret, StageModel, Table
from localstage.template.attributes import Live


async def provision(model: StageModel, *, live: Live, base_environment: Mapping[str, str] | None = None) -> None:
    """Create the missing resources of ``model`` on the services in ``live``, in parallel; nothing is deleted.

    ``base_environment`` has the region and keys that functions get (``AWS_REGION``, ``AWS_ACCESS_KEY_ID``, …); some
    emulators have a separate account per key.

    Raises:
        TemplateError: a table exists with other keys or indexes, or a service refuses a definition.
        ServiceError: a service does not answer.
    """
    # Importing botocore is slow, so it is imported neither by every command nor on the event loop.
    clients = await asyncio.to_thread(_Clients, live, base_environment or {})
    await _run(
        *((one.id, partial(_table, clients, one)) for one in model.tables.values()),
        *((one.id, partial(_secret, clients, one)) for one in model.secrets.values()),
        *((one.id, partial(_queue, clients, one)) for one in model.queues.values()),
        *((one.id, partial(_bucket, clients, one)) for one in model.buckets.values()),
    )
    # All dead-letter queues exist now.
    redriven = [queue for queue in model.queues.values() if queue.dead_letter_id]
    await _run(*((queue.id, partial(_redrive, clients, model.queues, queue)) for queue in redriven))


async def _run(*jobs: tuple[str, Callable[[], None]]) -> None:
    results = await asyncio.gather(*(asyncio.to_thread(_explained, *job) for job in jobs), return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException):
            raise result


def _explained(logical_id: str, job: Callable[[], None]) -> None:
    """Run ``job``; raise its errors with a message of one sentence."""
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        job()
    except ClientError as error:
        answer = error.response["Error"]
        message = f"{logical_id}: {error.operation_name} was refused: {answer.get('Message') or answer.get('Code')}"
        raise TemplateError(message) from error
    except BotoCoreError as error:
        raise ServiceError(f"{logical_id} cannot be made: {error}") from error


class _Clients:
    """One client per service; botocore's clients may be shared by threads."""

    def __init__(self, live: Live, environment: Mapping[str, str]) -> None:
        import boto3
        from botocore.config import Config

        # The environment's proxy must not be used between the stage and its services.
        config = Config(connect_timeout=5, read_timeout=30, retries={"total_max_attempts": 3}, proxies={})

        def client(service: str, url: str) -> Any:
            key = environment.get("AWS_ACCESS_KEY_ID", "local")
            make: Any = boto3.client
            return make(
                service,
                region_name=environment.get("AWS_REGION", "us-east-1"),
                endpoint_url=url or None,
                aws_access_key_id=key,
                aws_secret_access_key=environment.get("AWS_SECRET_ACCESS_KEY", key),
                aws_session_token=environment.get("AWS_SESSION_TOKEN"),
                config=config,
            )

        self.dynamodb = client("dynamodb", live.dynamodb_url)
        self.sqs = client("sqs", live.sqs_url)
        self.s3 = client("s3", live.s3_url)
        self.secrets = client("secretsmanager", live.secrets_manager_url)


def _table(clients: _Clients, table: Table) -> None:
    try:
        existing = clients.dynamodb.describe_table(TableName=table.name)["Table"]
        _compare(table, existing)
        _switch_stream(clients, table, existing)
    except clients.dynamodb.exceptions.ResourceNotFoundException:
        clients.dynamodb.create_table(**table.definition)
        clients.dynamodb.get_waiter("table_exists").wait(
            TableName=table.name, WaiterConfig={"Delay": 0.05, "MaxAttempts": 600}
        )
    if table.ttl_attribute:
        _expire(clients, table.name, table.ttl_attribute)


def _compare(table: Table, existing: Mapping[str, Any]) -> None:
    wanted, found = _shape(table.definition), _shape(existing)
    different = sorted(name for name in wanted.keys() | found.keys() if wanted.get(name) != found.get(name))
    if different:
        raise TemplateError(
            f"{table.id}: table {table.name} exists with another {', '.join(different)}; "
            "its data does not fit the template any more; delete it: make reset"
        )


def _shape(definition: Mapping[str, Any]) -> dict[str, Any]:
    """What cannot be changed on a table: keys with their types, and per index its keys and projection."""
    types = {one["AttributeName"]: one["AttributeType"] for one in definition["AttributeDefinitions"]}

    def keys(schema: list[dict[str, str]]) -> list[tuple[str, str, str]]:
        return sorted((key["KeyType"], key["AttributeName"], types.get(key["AttributeName"], "")) for key in schema)

    shape: dict[str, Any] = {"KeySchema": keys(definition["KeySchema"])}
    for index in definition.get("GlobalSecondaryIndexes") or []:
        projection = index.get("Projection") or {}
        projected = (projection.get("ProjectionType", "ALL"), sorted(projection.get("NonKeyAttributes") or []))
        shape[f"index {index['IndexName']}"] = (keys(index["KeySchema"]), projected)
    return shape


def _switch_stream(clients: _Clients, table: Table, existing: Mapping[str, Any]) -> None:
    wanted = table.definition.get("StreamSpecification", {"StreamEnabled": False})
    if wanted["StreamEnabled"] != existing.get("StreamSpecification", {}).get("StreamEnabled", False):
        clients.dynamodb.update_table(TableName=table.name, StreamSpecification=wanted)


def _expire(clients: _Clients, name: str, attribute: str) -> None:
    from botocore.exceptions import ClientError

    try:
        now = clients.dynamodb.describe_time_to_live(TableName=name)["TimeToLiveDescription"]
        if now.get("AttributeName") != attribute:
            specification = {"Enabled": True, "AttributeName": attribute}
            clients.dynamodb.update_time_to_live(TableName=name, TimeToLiveSpecification=specification)
    except ClientError as error:
        if error.response["Error"].get("Code") != "UnknownOperationException":
            raise  # dynalite has no time to live, so nothing expires in it


def _queue(clients: _Clients, queue: Queue) -> None:
    try:
        url = clients.sqs.get_queue_url(QueueName=queue.name)["QueueUrl"]
    except clients.sqs.exceptions.QueueDoesNotExist:
        clients.sqs.create_queue(QueueName=queue.name, Attributes=dict(queue.attributes))
    else:
        _change(clients, url, queue.attributes)


def _redrive(clients: _Clients, queues: Mapping[str, Queue], queue: Queue) -> None:
    urls = [
        clients.sqs.get_queue_url(QueueName=one.name)["QueueUrl"] for one in (queue, queues[str(queue.dead_letter_id)])
    ]
    target = clients.sqs.get_queue_attributes(QueueUrl=urls[1], AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    policy = {"deadLetterTargetArn": target, "maxReceiveCount": queue.max_receive_count}
    _change(clients, urls[0], {"RedrivePolicy": json.dumps(policy)})


def _change(clients: _Clients, url: str, attributes: Mapping[str, str]) -> None:
    if attributes:
        clients.sqs.set_queue_attributes(QueueUrl=url, Attributes=dict(attributes))


def _bucket(clients: _Clients, bucket: Bucket) -> None:
    region = clients.s3.meta.region_name
    place = {} if region == "us-east-1" else {"CreateBucketConfiguration": {"LocationConstraint": region}}
    with suppress(clients.s3.exceptions.BucketAlreadyOwnedByYou):
        clients.s3.create_bucket(Bucket=bucket.name, **place)
    if bucket.cors_rules:
        clients.s3.put_bucket_cors(Bucket=bucket.name, CORSConfiguration={"CORSRules": bucket.cors_rules})
    else:
        clients.s3.delete_bucket_cors(Bucket=bucket.name)


def _secret(clients: _Clients, secret: Secret) -> None:
    try:
        found = clients.secrets.get_secret_value(SecretId=secret.name).get("SecretString")
    except clients.secrets.exceptions.ResourceNotFoundException:
        clients.secrets.create_secret(Name=secret.name, SecretString=secret.value)
    else:
        if found != secret.value:
            clients.secrets.put_secret_value(SecretId=secret.name, SecretString=secret.value)
