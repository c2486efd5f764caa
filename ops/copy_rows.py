"""Copies rows of a restored table back. No row is overwritten or deleted."""

from __future__ import annotations

from typing import Any

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from headrace.core.errors import StoreUnavailable
from localstage.core.errors import StageError
from ops.erased import Erased


def copy_rows(source: str, target: str, erased: Erased) -> tuple[int, int, int]:
    """Copy the rows of the table ``source`` that the table ``target`` does not have; both are names.

    Returns how many were copied, how many ``target`` had, and how many are of ``erased`` people and were left out. Can
    be repeated, and may run beside writers.

    Raises:
        StageError: ``source`` is not yet restored, the tables have different keys, or AWS refused a call.
    """
    client: Any = boto3.client("dynamodb")
    copied = had = left_out = 0
    try:
        key = _common_key(client, source, target)
        for page in client.get_paginator("scan").paginate(TableName=source, ConsistentRead=True):
            rows = erased.without(page["Items"])
            left_out += len(page["Items"]) - len(rows)
            for row in rows:
                is_new = put_if_absent(client, target, row, key)
                copied, had = copied + is_new, had + (not is_new)
    except (ClientError, BotoCoreError, StoreUnavailable) as error:
        raise StageError(f"{copied} rows were copied, then: {error}; run it again") from None
    return copied, had, left_out


def _common_key(client: Any, source: str, target: str) -> str:
    """The partition key of both tables."""
    described, keys = (client.describe_table(TableName=name)["Table"] for name in (source, target))
    if described["TableStatus"] != "ACTIVE":
        raise StageError(f"FROM: {source} is {described['TableStatus']}; wait until it is ACTIVE")
    if described["KeySchema"] != keys["KeySchema"]:
        raise StageError(f"FROM: {source} has other keys than {target}")
    return str(keys["KeySchema"][0]["AttributeName"])


def put_if_absent(client: Any, target: str, row: dict[str, Any], key: str) -> bool:
    """Write a row, unless the table ``target``, with the partition key ``key``, has it; whether it was written."""
    condition, names = "attribute_not_exists(#key)", {"#key": key}
    try:
        client.put_item(TableName=target, Item=row, ConditionExpression=condition, ExpressionAttributeNames=names)
    except client.exceptions.ConditionalCheckFailedException:
        return False
    return True
