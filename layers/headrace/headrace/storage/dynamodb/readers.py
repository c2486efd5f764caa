"""Reads ranges and columns of DynamoDB tables, a page with each Query."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from headrace.runtime.aws import AwsClient, client
from headrace.runtime.threads import Parallel
from headrace.storage.dynamodb.client import DynamoClient, from_wire, to_wire
from headrace.storage.reading import EXPIRES, Columns, Query, RangeQuery, Rows

PARALLEL = 8


class DynamoReader:
    """A :class:`~headrace.storage.reading.RangeReader` on DynamoDB."""

    def __init__(self, dynamodb: AwsClient) -> None:
        self._dynamodb = DynamoClient(dynamodb, "the history cannot be read", "the history is read too often")
        self._parallel = Parallel(PARALLEL, "reader")

    def read(self, query: RangeQuery) -> Rows:
        response = self._dynamodb.call(self._dynamodb.client.query, **_range_query(query))
        more = response.get("LastEvaluatedKey")
        return Rows([from_wire(item) for item in response["Items"]], from_wire(more) if more else None)

    def read_many(self, queries: Sequence[RangeQuery]) -> Iterable[Rows]:
        return self._parallel.each(self.read, queries)


def columns_client(connections: int) -> AwsClient:
    """A client for pages of 1 MB: more time for each, and more attempts."""
    return client("dynamodb", timeout=5.0, attempts=3, connections=connections)


class DynamoColumns:
    """A :class:`~headrace.storage.reading.ColumnReader` on DynamoDB."""

    def __init__(self, dynamodb: AwsClient) -> None:
        self._dynamodb = DynamoClient(dynamodb, "the table cannot be read", "the table is read too often")

    def read(self, query: Query) -> Columns:
        attributes = list(dict.fromkeys((query.sort_attribute, *query.attributes, EXPIRES)))
        body = _query(query, attributes)
        body["Select"] = "SPECIFIC_ATTRIBUTES"  # what the function's policy allows
        body["ReturnConsumedCapacity"] = "TOTAL"
        response = self._dynamodb.call(self._dynamodb.client.query, **body)
        items = response["Items"]
        more = response.get("LastEvaluatedKey")
        return Columns(
            [item[query.sort_attribute]["S"] for item in items],
            {name: _column(items, name) for name in query.attributes},
            [int(item[EXPIRES]["N"]) if EXPIRES in item else 0 for item in items],
            from_wire(more) if more else None,
            response.get("ConsumedCapacity", {}).get("CapacityUnits", 0.0),
        )


def _column(items: Sequence[Mapping[str, Any]], name: str) -> list[str]:
    """The texts of an attribute, numbers too; empty where an item does not have it."""
    try:
        return [item[name]["S"] for item in items]
    except KeyError:
        return [next(iter(item[name].values())) if name in item else "" for item in items]


def _range_query(query: RangeQuery) -> dict[str, Any]:
    body = _query(query, query.attributes)
    body["ScanIndexForward"] = not query.newest_first
    body["Limit"] = query.limit
    if query.consistent and query.index is None:  # reads of an index cannot be consistent
        body["ConsistentRead"] = True
    if query.unexpired_at is not None:
        body["FilterExpression"] = "attribute_not_exists(#e) OR #e > :now"
        body["ExpressionAttributeNames"]["#e"] = EXPIRES
        body["ExpressionAttributeValues"][":now"] = {"N": str(query.unexpired_at)}
    return body


def _query(query: Query, attributes: Iterable[str]) -> dict[str, Any]:
    """The parameters of a Query for all kinds of queries; ``attributes`` to read, none for all."""
    aliases = {query.partition_attribute: "#p"}
    values = {":p": query.partition}
    bounds = ""
    if query.lower is not None:
        values[":lower"] = query.lower
        bounds = " AND #s >= :lower"
    if query.upper is not None:
        values[":upper"] = query.upper
        # A key condition may name the sort key once; no key equals an upper bound, so BETWEEN leaves it out.
        bounds = " AND #s BETWEEN :lower AND :upper" if bounds else " AND #s < :upper"
    if bounds:
        aliases[query.sort_attribute] = "#s"
    projection = [aliases.setdefault(name, f"#a{len(aliases)}") for name in attributes]
    body: dict[str, Any] = {
        "TableName": query.table,
        "KeyConditionExpression": f"#p = :p{bounds}",
        "ExpressionAttributeNames": {alias: name for name, alias in aliases.items()},
        "ExpressionAttributeValues": to_wire(values),
    }
    if projection:
        body["ProjectionExpression"] = ",".join(projection)
    if query.index is not None:
        body["IndexName"] = query.index
    if query.start is not None:
        body["ExclusiveStartKey"] = to_wire(query.start)
    return body
