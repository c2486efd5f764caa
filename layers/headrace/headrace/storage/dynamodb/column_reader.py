"""Columns from DynamoDB: Query, with botocore's parsing of the answer left out.

That parsing walks every value against the service model and costs ten times what reading the JSON does. So the body is
taken before it, and read here. Signing, endpoints, connections, checksums, errors and retries remain botocore's.
"""

from __future__ import annotations

import json
from typing import Any

from headrace.core.errors import StoreThrottled, StoreUnavailable
from headrace.runtime.aws import AWS_ERRORS, client, is_throttling
from headrace.storage.ports import EXPIRES, ColumnQuery, Columns

_BODY = "HeadraceBody"
_OK = 200


def columns_client(connections: int) -> Any:
    """A client for :class:`DynamoColumns`; its ``query`` does not parse its answers."""
    made = client("dynamodb", timeout=5.0, attempts=3, connections=connections)
    made.meta.events.register_last("before-parse.dynamodb.Query", _keep_body)
    return made


def _keep_body(response_dict: dict[str, Any], customized_response_dict: dict[str, Any], **_: Any) -> None:
    if response_dict["status_code"] == _OK:
        customized_response_dict[_BODY] = response_dict["body"]
        response_dict["body"] = b"{}"


class DynamoColumns:
    """Reads through a client that :func:`columns_client` made."""

    def __init__(self, dynamodb: Any) -> None:
        self._client = dynamodb

    def read(self, query: ColumnQuery) -> Columns:
        """The next page: at most 1 MB of rows as they are stored.

        Raises:
            StoreUnavailable: no answer in time; StoreThrottled: too many reads now.
        """
        try:
            answer = json.loads(self._client.query(**_arguments(query))[_BODY])
        except AWS_ERRORS as error:
            if is_throttling(error):
                raise StoreThrottled("the table is read too often right now; try again shortly") from error
            raise StoreUnavailable("the table cannot be read right now; try again shortly") from error
        items = answer["Items"]
        return Columns(
            [item[query.sort_attribute]["S"] for item in items],
            {name: [item[name]["S"] for item in items] for name in query.attributes},
            [int(item[EXPIRES]["N"]) if EXPIRES in item else 0 for item in items],
            answer.get("LastEvaluatedKey"),
            answer.get("ConsumedCapacity", {}).get("CapacityUnits", 0.0),
        )


def _arguments(query: ColumnQuery) -> dict[str, Any]:
    wanted = dict.fromkeys((query.sort_attribute, *query.attributes, EXPIRES))
    names = {f"#a{number}": name for number, name in enumerate(wanted)}
    arguments: dict[str, Any] = {
        "TableName": query.table,
        # No key equals an upper bound, so BETWEEN leaves it out.
        "KeyConditionExpression": "#p = :p AND #a0 BETWEEN :lower AND :upper",
        "Select": "SPECIFIC_ATTRIBUTES",  # what the function's policy allows
        "ProjectionExpression": ",".join(names),
        "ExpressionAttributeNames": {"#p": query.partition_attribute, **names},
        "ExpressionAttributeValues": {
            ":p": {"S": query.partition},
            ":lower": {"S": query.lower},
            ":upper": {"S": query.upper},
        },
        "ReturnConsumedCapacity": "TOTAL",
    }
    if query.index is not None:
        arguments["IndexName"] = query.index
    if query.start is not None:
        arguments["ExclusiveStartKey"] = query.start
    return arguments
