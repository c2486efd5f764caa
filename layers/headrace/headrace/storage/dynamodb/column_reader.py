"""Reads columns of a DynamoDB table, a page of at most 1 MB with each Query."""

from __future__ import annotations

from typing import Any

from headrace.core.items import from_wire
from headrace.runtime.aws import client
from headrace.storage.dynamodb.client import DynamoClient, query_body
from headrace.storage.ports import EXPIRES, Columns, Query


def columns_client(connections: int) -> Any:
    """A client for pages of 1 MB: more time for each, and more attempts."""
    return client("dynamodb", timeout=5.0, attempts=3, connections=connections)


class DynamoColumns:
    """A :class:`~headrace.storage.ports.ColumnReader` on a botocore DynamoDB client."""

    def __init__(self, client: Any) -> None:
        self._dynamodb = DynamoClient(client, "the table cannot be read", "the table is read too often")

    def read(self, query: Query) -> Columns:
        attributes = list(dict.fromkeys((query.sort_attribute, *query.attributes, EXPIRES)))
        body = query_body(query, attributes)
        body["Select"] = "SPECIFIC_ATTRIBUTES"  # what the function's policy allows
        body["ReturnConsumedCapacity"] = "TOTAL"
        response = self._dynamodb.call("query", **body)
        items = response["Items"]
        more = response.get("LastEvaluatedKey")
        return Columns(
            [item[query.sort_attribute]["S"] for item in items],
            {name: [item[name]["S"] for item in items] for name in query.attributes},
            [int(item[EXPIRES]["N"]) if EXPIRES in item else 0 for item in items],
            from_wire(more) if more else None,
            response.get("ConsumedCapacity", {}).get("CapacityUnits", 0.0),
        )
