"""Ranges over a DynamoDB table, through one Query call each."""

from __future__ import annotations

from typing import Any

from headrace.aws import AWS_ERRORS, is_throttling
from headrace.errors import StoreThrottled, StoreUnavailable
from headrace.readers.base import RangeQuery, Rows


class DynamoReader:
    """Reads through a boto3 DynamoDB client."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def read(self, query: RangeQuery) -> Rows:
        """Up to ``query.limit`` rows.

        Raises:
            StoreUnavailable: no answer in time; StoreThrottled: too many reads now.
        """
        try:
            answer = self._client.query(**_arguments(query))
        except AWS_ERRORS as error:
            if is_throttling(error):
                raise StoreThrottled("the history is read too often right now; try again shortly") from error
            raise StoreUnavailable("the history cannot be read right now; try again shortly") from error
        more = answer.get("LastEvaluatedKey")
        return Rows([_plain(item) for item in answer["Items"]], _plain(more) if more else None)


def _arguments(query: RangeQuery) -> dict[str, Any]:
    condition, values = "#p = :p", {":p": {"S": query.partition}}
    if query.lower is not None:
        values[":lower"] = {"S": query.lower}
    if query.upper is not None:
        values[":upper"] = {"S": query.upper}
    # A key condition may name the sort key once; no key equals an upper bound, so BETWEEN leaves it out.
    if query.lower is not None and query.upper is not None:
        condition += " AND #s BETWEEN :lower AND :upper"
    elif query.lower is not None:
        condition += " AND #s >= :lower"
    elif query.upper is not None:
        condition += " AND #s < :upper"
    names = {"#p": query.partition_attribute}
    if len(values) > 1:
        names["#s"] = query.sort_attribute
    arguments: dict[str, Any] = {
        "TableName": query.table,
        "KeyConditionExpression": condition,
        "ExpressionAttributeNames": names,
        "ExpressionAttributeValues": values,
        "ScanIndexForward": not query.newest_first,
        "Limit": query.limit,
    }
    if query.index is not None:
        arguments["IndexName"] = query.index
    elif query.consistent:
        arguments["ConsistentRead"] = True  # an index cannot be read so
    if query.start is not None:
        arguments["ExclusiveStartKey"] = {name: {"S": value} for name, value in query.start.items()}
    return arguments


def _plain(item: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Texts and whole numbers as Python has them: boto3's own deserializer costs ten times as much."""
    plain: dict[str, Any] = {}
    for name, value in item.items():
        kind, content = next(iter(value.items()))
        plain[name] = int(content) if kind == "N" else content
    return plain
