"""``localstage rows``: the newest rows with one partition key, from a table of the running stage."""

from __future__ import annotations

import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import boto3
from boto3.dynamodb.conditions import Key
from botocore.exceptions import BotoCoreError, ClientError

from localstage.core.errors import StageError

Variables = Mapping[str, Mapping[str, str]]
"""The variables of functions, which have the address and keys of DynamoDB."""


def table_of(variables: Variables, name: str) -> Any:
    """The table with the logical id ``name``, as a resource of boto3.

    Raises:
        StageError: there is no such table.
        BotoCoreError, ClientError: DynamoDB does not answer.
    """
    environ = next((one for one in variables.values() if one.get("AWS_ENDPOINT_URL_DYNAMODB")), {})
    session = boto3.session.Session(
        environ.get("AWS_ACCESS_KEY_ID"),
        environ.get("AWS_SECRET_ACCESS_KEY"),
        environ.get("AWS_SESSION_TOKEN"),
        environ.get("AWS_REGION"),
    )
    dynamodb = session.resource("dynamodb", endpoint_url=environ.get("AWS_ENDPOINT_URL_DYNAMODB"))
    tables = {one.name.rpartition("-")[2]: one for one in dynamodb.tables.all()}
    if (table := tables.get(name)) is None:
        raise StageError(f"no such table: {name}; there are: {', '.join(tables) or 'none'}")
    return table


def newest_rows(variables: Variables, name: str, key: str, limit: int) -> list[dict[str, Any]]:
    """Up to ``limit`` rows with the partition key ``key``, the highest sort key first.

    ``name`` is the logical id of the table.

    Raises:
        StageError: there is no such table, or it cannot be read.
    """
    try:
        table = table_of(variables, name)
        wanted = Key(table.key_schema[0]["AttributeName"]).eq(key)
        found = table.query(KeyConditionExpression=wanted, ScanIndexForward=False, Limit=limit)
        rows: list[dict[str, Any]] = found["Items"]
        return rows
    except (BotoCoreError, ClientError) as error:
        raise StageError(f"{name} cannot be read: {error}") from None


def to_json(row: Mapping[str, Any]) -> str:
    """The row in one line; whole numbers as such, other numbers, sets and bytes as texts."""

    def shown(value: object) -> object:
        return int(value) if isinstance(value, Decimal) and value == int(value) else str(value)

    return json.dumps(row, ensure_ascii=False, default=shown)
