"""Calls DynamoDB with requests and responses as DynamoDB JSON, and raises Headrace's errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from headrace.core.collections import slices
from headrace.core.errors import StoreThrottled, StoreUnavailable
from headrace.core.items import Item
from headrace.runtime.aws import AwsClient, AwsError, call
from headrace.storage.dynamodb.direct import CONDITION_FAILED, send_directly

GET_LIMIT = 100
"""Keys that one BatchGetItem takes."""
GET_TRIES = 2
"""Calls that so many keys get: DynamoDB may leave some of the first one unprocessed."""
WRITE_LIMIT = 25
"""Rows that one BatchWriteItem, or one BatchExecuteStatement, takes."""
THROTTLING_CODES = {"ProvisionedThroughputExceededException", "RequestLimitExceeded", "ThrottlingException"}


class ConditionFailed(Exception):
    """A write's condition does not hold; ``row`` is the row that is there, if the call asked for it."""

    def __init__(self, row: Item) -> None:
        super().__init__()
        self.row = row


class DynamoClient:
    """Calls through ``client``, which other code may use at the same time.

    ``unavailable`` and ``throttled`` begin the messages of errors, such as "rooms cannot be reached" and "rooms are
    asked for too often".
    """

    def __init__(self, client: AwsClient, unavailable: str, throttled: str) -> None:
        send_directly(client)
        self.client = client
        self._unavailable = f"{unavailable} right now; try again shortly"
        self._throttled = f"{throttled} right now; try again shortly"

    def call(self, operation: Callable[..., dict[str, Any]], **parameters: Any) -> dict[str, Any]:
        """The response to one call; ``operation`` is a method of the client.

        Raises:
            ConditionFailed: the write's condition does not hold.
            StoreUnavailable: no response in time; StoreThrottled: too many calls now.
        """
        try:
            return call(operation, **parameters)
        except AwsError as error:
            if error.code == CONDITION_FAILED:
                raise ConditionFailed(from_wire(error.item)) from None
            if error.code in THROTTLING_CODES:
                raise StoreThrottled(self._throttled) from error
            raise StoreUnavailable(self._unavailable) from error


Pages = Iterator[tuple[list[Item], Item | None]]
"""Rows, and the place behind them: the key to go on from, or ``None`` at the end."""


class DynamoTable(DynamoClient):
    """Calls to one table; its keys, rows and values are plain Python values.

    ``subject`` is a plural that names its rows in the messages of errors.
    """

    def __init__(self, client: AwsClient, name: str, subject: str) -> None:
        super().__init__(client, f"{subject} cannot be reached", f"{subject} are asked for too often")
        self._name = name

    def _stored(self, row: Item) -> dict[str, Any]:
        """A row, or a key, as the table has it."""
        return to_wire(row)

    def _read(self, wire: Mapping[str, Any]) -> Item:
        """A row, or a key, that was read."""
        return from_wire(wire)

    def get(self, key: Item) -> Item | None:
        """The row under ``key``, if there is one; the read is consistent."""
        response = self.call(self.client.get_item, TableName=self._name, Key=self._stored(key), ConsistentRead=True)
        return self._read(response["Item"]) if "Item" in response else None

    def get_many(self, keys: Sequence[Item], **parameters: Any) -> list[Item]:
        """The rows under ``keys``, which differ; ``parameters`` may name their attributes.

        Raises:
            StoreUnavailable: there was no answer; StoreThrottled: not all of them can be read now.
        """
        rows = list[Item]()
        for part in slices(keys, GET_LIMIT):
            left, tries = [self._stored(key) for key in part], GET_TRIES
            while left:
                if not tries:
                    raise StoreThrottled(self._throttled)
                tries -= 1
                batch = {"Keys": left, "ConsistentRead": True, **parameters}
                response = self.call(self.client.batch_get_item, RequestItems={self._name: batch})
                rows += map(self._read, response["Responses"].get(self._name, ()))
                left = response.get("UnprocessedKeys", {}).get(self._name, {}).get("Keys", [])
        return rows

    def put(self, row: Item, **parameters: Any) -> None:
        """Write a whole row."""
        self.call(self.client.put_item, TableName=self._name, Item=self._stored(row), **parameters)

    def update(self, key: Item, expression: str, values: Item, **parameters: Any) -> Item:
        """Change attributes of one row; the attributes that ``ReturnValues`` among ``parameters`` asks for."""
        response = self.call(
            self.client.update_item,
            TableName=self._name,
            Key=self._stored(key),
            UpdateExpression=expression,
            ExpressionAttributeValues=to_wire(values),
            **parameters,
        )
        return self._read(response.get("Attributes", {}))

    def update_if(self, condition: str, key: Item, expression: str, values: Item, **parameters: Any) -> bool:
        """Change attributes of one row; ``False`` if ``condition`` does not hold."""
        try:
            self.update(key, expression, values, ConditionExpression=condition, **parameters)
        except ConditionFailed:
            return False
        return True

    def delete_if(self, condition: str, key: Item, values: Item | None = None) -> bool:
        """Delete one row; ``False`` if ``condition`` does not hold."""
        given = {"ExpressionAttributeValues": to_wire(values)} if values else {}
        try:
            self.call(
                self.client.delete_item,
                TableName=self._name,
                Key=self._stored(key),
                ConditionExpression=condition,
                **given,
            )
        except ConditionFailed:
            return False
        return True

    def put_many(self, rows: Sequence[Item]) -> None:
        """Write whole rows, which have different keys.

        Raises:
            StoreUnavailable: some may not be written; StoreThrottled: some are not.
        """
        self._write([{"PutRequest": {"Item": self._stored(row)}} for row in rows])

    def delete_many(self, keys: Sequence[Item]) -> None:
        """Delete the rows under ``keys``, which differ.

        Raises:
            StoreUnavailable: some may be left; StoreThrottled: some are.
        """
        self._write([{"DeleteRequest": {"Key": self._stored(key)}} for key in keys])

    def _write(self, requests: Sequence[dict[str, Any]]) -> None:
        for part in slices(requests, WRITE_LIMIT):
            if self.call(self.client.batch_write_item, RequestItems={self._name: part}).get("UnprocessedItems"):
                raise StoreThrottled(self._throttled)

    def query(self, attribute: str, value: str, **parameters: Any) -> tuple[list[Item], bool]:
        """One page of the rows whose partition key ``attribute`` is ``value``, and whether there may be more."""
        response = self.call(self.client.query, **self._query(attribute, value), **parameters)
        return list(map(self._read, response["Items"])), "LastEvaluatedKey" in response

    def query_all(self, attribute: str, value: str, **parameters: Any) -> Iterator[Item]:
        """All rows whose partition key ``attribute`` is ``value``, read page by page."""
        return rows_of(self.query_pages(attribute, value, **parameters))

    def query_pages(self, attribute: str, value: str, start: Item | None = None, **parameters: Any) -> Pages:
        """The pages of the rows whose partition key ``attribute`` is ``value``, from the place ``start`` on."""
        return self._pages(self.client.query, self._query(attribute, value) | parameters, start)

    def scan_all(self) -> Iterator[Item]:
        """All rows, read page by page."""
        return rows_of(self.scan_pages())

    def scan_pages(self, start: Item | None = None, **parameters: Any) -> Pages:
        """The pages of all rows: 1 MB each, of which a ``FilterExpression`` may leave out any number of rows."""
        scan = {"TableName": self._name, "ConsistentRead": True}
        return self._pages(self.client.scan, scan | parameters, start)

    def _query(self, attribute: str, value: str) -> dict[str, Any]:
        return {
            "TableName": self._name,
            "KeyConditionExpression": f"{attribute} = :v",
            "ExpressionAttributeValues": {":v": {"S": value}},
        }

    def _pages(self, operation: Callable[..., dict[str, Any]], parameters: dict[str, Any], start: Item | None) -> Pages:
        if start is not None:
            parameters = parameters | {"ExclusiveStartKey": self._stored(start)}
        while True:
            response = self.call(operation, **parameters)
            last = response.get("LastEvaluatedKey")
            yield list(map(self._read, response["Items"])), None if last is None else self._read(last)
            if last is None:
                return
            parameters = parameters | {"ExclusiveStartKey": last}


def rows_of(pages: Pages) -> Iterator[Item]:
    """All rows of pages, which are read one after the other."""
    return (row for rows, _ in pages for row in rows)


def to_wire(item: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """``item`` with the types of its values, as boto3's clients take it."""
    return {name: {"S": value} if type(value) is str else _wire(value) for name, value in item.items()}


def _wire(value: Any) -> dict[str, Any]:
    match value:
        case str():
            return {"S": value}
        case bool():
            return {"BOOL": value}
        case int() | Decimal():
            return {"N": str(value)}
        case None:
            return {"NULL": True}
        case list() | tuple():
            return {"L": [_wire(part) for part in value]}
        case dict():
            return {"M": to_wire(value)}
        case set() | frozenset():
            if value and all(isinstance(each, int) for each in value):
                return {"NS": [str(each) for each in sorted(value)]}
            return {"SS": sorted(value)}
    raise TypeError(f"no attribute value for {type(value).__name__}")


def from_wire(wire: Mapping[str, Mapping[str, Any]]) -> Item:
    """The item that a client of boto3 returned; whole numbers are ``int``, others ``Decimal``."""
    return {name: value["S"] if "S" in value else _value(value) for name, value in wire.items()}


def _value(wire: Mapping[str, Any]) -> Any:
    ((kind, value),) = wire.items()
    match kind:
        case "S" | "BOOL":
            return value
        case "N":
            if value.isdecimal():  # a tenth of the time of Decimal
                return int(value)
            number = Decimal(value)
            return int(number) if number == number.to_integral_value() else number
        case "NULL":
            return None
        case "L":
            return [_value(part) for part in value]
        case "M":
            return from_wire(value)
        case "SS":
            return set(value)
        case "NS":
            return {int(each) for each in value}
    raise TypeError(f"no Python value for attribute type {kind}")
