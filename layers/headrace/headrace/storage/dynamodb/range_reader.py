"""Reads ranges of a DynamoDB table, each with one Query."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.core.items import from_wire
from headrace.runtime.parallel import Parallel
from headrace.storage.dynamodb.client import DynamoClient, query_body
from headrace.storage.ports import EXPIRES, RangeQuery, Rows

PARALLEL = 8


class DynamoReader:
    """A :class:`~headrace.storage.ports.RangeReader` on a botocore DynamoDB client."""

    def __init__(self, client: Any) -> None:
        self._dynamodb = DynamoClient(client, "the history cannot be read", "the history is read too often")
        self._parallel = Parallel(PARALLEL, "reader")

    def read(self, query: RangeQuery) -> Rows:
        response = self._dynamodb.call("query", **_body(query))
        more = response.get("LastEvaluatedKey")
        return Rows([from_wire(item) for item in response["Items"]], from_wire(more) if more else None)

    def read_many(self, queries: Sequence[RangeQuery]) -> list[Rows]:
        return self._parallel.map(self.read, queries)


def _body(query: RangeQuery) -> dict[str, Any]:
    body = query_body(query, query.attributes)
    body["ScanIndexForward"] = not query.newest_first
    body["Limit"] = query.limit
    if query.consistent and query.index is None:  # reads of an index cannot be consistent
        body["ConsistentRead"] = True
    if query.unexpired_at is not None:
        body["FilterExpression"] = "attribute_not_exists(#e) OR #e > :now"
        body["ExpressionAttributeNames"]["#e"] = EXPIRES
        body["ExpressionAttributeValues"][":now"] = {"N": str(query.unexpired_at)}
    return body
