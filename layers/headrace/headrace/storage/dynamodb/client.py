"""Calls DynamoDB with requests and responses as DynamoDB JSON, and raises Headrace's errors.

botocore's serializer and parser compare each value with the service model, which costs several times the JSON itself.
Instead, botocore's hooks put in encoded request bodies and take out responses. Endpoints, signing, connections,
checksums, error responses and retries remain botocore's.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from typing import Any

from botocore.exceptions import HTTPClientError

from headrace.core.errors import StoreThrottled, StoreUnavailable
from headrace.core.groups import slices
from headrace.core.items import Item, from_wire, to_wire
from headrace.core.json import encode
from headrace.runtime.aws import AWS_ERRORS, error_code, is_throttling

GET_LIMIT = 100
"""Keys that one BatchGetItem takes."""
WRITE_LIMIT = 25
"""Rows that one BatchWriteItem takes."""
_CONDITION_FAILED = "ConditionalCheckFailedException"
_RESPONSE = "HeadraceResponse"
_OK = 200


class _Call(threading.local):
    """The ``body`` while :meth:`DynamoClient.send` runs in this thread; ``None`` for other calls of its client."""

    body: bytes | None = None


_call = _Call()


class ConditionFailed(Exception):
    """A write's condition does not hold."""


class DynamoClient:
    """Calls through a botocore client, which other code may use at the same time.

    ``unavailable`` and ``throttled`` begin the messages of errors, such as "rooms cannot be reached" and "rooms are
    asked for too often".
    """

    def __init__(
        self, client: Any, unavailable: str = "the table cannot be reached", throttled: str = "the table is too busy"
    ) -> None:
        self._client = client
        self._unavailable = f"{unavailable} right now; try again shortly"
        self._throttled = f"{throttled} right now; try again shortly"
        client.meta.events.register_last("before-call.dynamodb", _put_body, unique_id="headrace-body")
        client.meta.events.register_last("before-parse.dynamodb", _take_response, unique_id="headrace-response")

    def send(self, operation: str, body: bytes) -> dict[str, Any]:
        """The response to one call; ``operation`` is the name of a botocore method.

        Raises:
            ClientError, BotoCoreError: as botocore raises them.
        """
        # botocore finds the endpoint of a batch by its tables.
        arguments: dict[str, Any] = {"RequestItems": {}} if operation.startswith("batch_") else {}
        outer, _call.body = _call.body, body
        try:
            raw = getattr(self._client, operation)(**arguments)[_RESPONSE]
        finally:
            _call.body = outer
        try:
            response: dict[str, Any] = json.loads(raw)
        except ValueError as error:
            raise HTTPClientError(error="the response is not JSON") from error
        return response

    def call(self, operation: str, **body: Any) -> dict[str, Any]:
        """The response to one call.

        Raises:
            ConditionFailed: the write's condition does not hold.
            StoreUnavailable: no response in time; StoreThrottled: too many calls now.
        """
        try:
            return self.send(operation, encode(body).encode())
        except AWS_ERRORS as error:
            if error_code(error) == _CONDITION_FAILED:
                raise ConditionFailed from None
            if is_throttling(error):
                raise StoreThrottled(self._throttled) from error
            raise StoreUnavailable(self._unavailable) from error


def _put_body(params: dict[str, Any], **_: Any) -> None:
    if _call.body is not None:
        params["body"] = _call.body


def _take_response(response_dict: dict[str, Any], customized_response_dict: dict[str, Any], **_: Any) -> None:
    if _call.body is not None and response_dict["status_code"] == _OK:
        customized_response_dict[_RESPONSE] = response_dict["body"]
        response_dict["body"] = b"{}"


class DynamoTable(DynamoClient):
    """Calls to one table; its keys, rows and values are plain Python values.

    ``subject`` is a plural that names its rows in the messages of errors.
    """

    def __init__(self, client: Any, name: str, subject: str) -> None:
        super().__init__(client, f"{subject} cannot be reached", f"{subject} are asked for too often")
        self._name = name

    def get(self, key: Item) -> Item | None:
        """The row under ``key``, if there is one; the read is consistent."""
        row = self.call("get_item", TableName=self._name, Key=to_wire(key), ConsistentRead=True).get("Item")
        return None if row is None else from_wire(row)

    def get_many(self, keys: Sequence[Item]) -> tuple[list[Item], list[Item]]:
        """The rows under ``keys``, which differ; and the keys that DynamoDB left unprocessed."""
        rows, left = list[Item](), list[Item]()
        for part in slices(keys, GET_LIMIT):
            batch = {"Keys": [to_wire(key) for key in part], "ConsistentRead": True}
            response = self.call("batch_get_item", RequestItems={self._name: batch})
            rows += map(from_wire, response["Responses"].get(self._name, ()))
            left += map(from_wire, response.get("UnprocessedKeys", {}).get(self._name, {}).get("Keys", ()))
        return rows, left

    def put(self, row: Item, **parameters: Any) -> None:
        """Write a whole row."""
        self.call("put_item", TableName=self._name, Item=to_wire(row), **parameters)

    def update(self, key: Item, expression: str, values: Item, **parameters: Any) -> Item:
        """Change attributes of one row; the attributes that ``ReturnValues`` among ``parameters`` asks for."""
        response = self.call(
            "update_item",
            TableName=self._name,
            Key=to_wire(key),
            UpdateExpression=expression,
            ExpressionAttributeValues=to_wire(values),
            **parameters,
        )
        return from_wire(response.get("Attributes", {}))

    def update_if(self, condition: str, key: Item, expression: str, values: Item) -> bool:
        """Change attributes of one row; ``False`` if ``condition`` does not hold."""
        try:
            self.update(key, expression, values, ConditionExpression=condition)
        except ConditionFailed:
            return False
        return True

    def delete_many(self, keys: Sequence[Item]) -> None:
        """Delete the rows under ``keys``, which differ.

        Raises:
            StoreUnavailable: some may be left; StoreThrottled: some are.
        """
        for part in slices(keys, WRITE_LIMIT):
            requests = [{"DeleteRequest": {"Key": to_wire(key)}} for key in part]
            if self.call("batch_write_item", RequestItems={self._name: requests}).get("UnprocessedItems"):
                raise StoreThrottled(self._throttled)

    def query(self, attribute: str, value: str, **parameters: Any) -> tuple[list[Item], bool]:
        """One page of the rows whose partition key ``attribute`` is ``value``, and whether there may be more."""
        response = self.call("query", **self._query(attribute, value), **parameters)
        return list(map(from_wire, response["Items"])), "LastEvaluatedKey" in response

    def query_all(self, attribute: str, value: str, **parameters: Any) -> Iterator[Item]:
        """All rows whose partition key ``attribute`` is ``value``, read page by page."""
        return self._all("query", self._query(attribute, value) | parameters)

    def scan_all(self) -> Iterator[Item]:
        """All rows, read page by page."""
        return self._all("scan", {"TableName": self._name, "ConsistentRead": True})

    def _query(self, attribute: str, value: str) -> dict[str, Any]:
        return {
            "TableName": self._name,
            "KeyConditionExpression": f"{attribute} = :v",
            "ExpressionAttributeValues": {":v": {"S": value}},
        }

    def _all(self, operation: str, parameters: dict[str, Any]) -> Iterator[Item]:
        while True:
            response = self.call(operation, **parameters)
            yield from map(from_wire, response["Items"])
            if "LastEvaluatedKey" not in response:
                return
            parameters = parameters | {"ExclusiveStartKey": response["LastEvaluatedKey"]}
