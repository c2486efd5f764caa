"""Resorts in DynamoDB: one item each, in a table that holds nothing else."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from headrace.core.errors import StoreThrottled, StoreUnavailable
from headrace.core.items import from_wire
from headrace.runtime.aws import AWS_ERRORS, error_code, is_throttling
from headrace.streams.ski.resorts import Resort

_CONDITION_FAILED = "ConditionalCheckFailedException"


class DynamoResorts:
    """Resorts through a botocore DynamoDB client."""

    def __init__(self, client: Any, table: str) -> None:
        self._client = client
        self._table = table

    def get(self, resort_id: int) -> Resort:
        """The resort as it is now: the read is consistent."""
        answer = self._call("get_item", Key=_key(resort_id), ConsistentRead=True)
        return _resort(answer["Item"]) if "Item" in answer else Resort(resort_id)

    def every(self) -> list[Resort]:
        """All resorts that have a season. There are some hundreds in the world, so a scan is a page."""
        found: list[Resort] = []
        more: dict[str, Any] = {}
        while True:
            answer = self._call("scan", ConsistentRead=True, **more)
            found += [_resort(item) for item in answer["Items"]]
            if "LastEvaluatedKey" not in answer:
                return sorted((each for each in found if each.seasons), key=lambda resort: resort.resort_id)
            more = {"ExclusiveStartKey": answer["LastEvaluatedKey"]}

    def add_season(self, resort_id: int, season: int, name: str | None = None) -> bool:
        """Add a season: an ADD to a set, so that two at once are both kept and the same one twice is one."""
        values: dict[str, Any] = {":season": {"NS": [str(season)]}}
        expression = "ADD seasons :season"
        if name is not None:
            expression += " SET resortName = :name"
            values[":name"] = {"S": name}
        answer = self._call(
            "update_item",
            Key=_key(resort_id),
            UpdateExpression=expression,
            ExpressionAttributeValues=values,
            ReturnValues="ALL_OLD",
        )
        return str(season) not in answer.get("Attributes", {}).get("seasons", {}).get("NS", [])

    def invalidate_counts(self, resort_ids: Iterable[int], until: int) -> None:
        """Invalidate counts that were started before ``until``, with a condition so that the time never moves back."""
        for resort_id in resort_ids:
            self._call(
                "update_item",
                Key=_key(resort_id),
                UpdateExpression="SET doubtfulUntil = :until",
                ConditionExpression="attribute_not_exists(doubtfulUntil) OR doubtfulUntil < :until",
                ExpressionAttributeValues={":until": {"N": str(until)}},
            )

    def _call(self, operation: str, **arguments: Any) -> dict[str, Any]:
        try:
            answer: dict[str, Any] = getattr(self._client, operation)(TableName=self._table, **arguments)
        except AWS_ERRORS as error:
            if error_code(error) == _CONDITION_FAILED:
                return {}
            if is_throttling(error):
                raise StoreThrottled("resorts are asked for too often right now; try again shortly") from error
            raise StoreUnavailable("resorts cannot be reached right now; try again shortly") from error
        return answer


def _key(resort_id: int) -> dict[str, Any]:
    return {"resortID": {"S": str(resort_id)}}


def _resort(item: dict[str, Any]) -> Resort:
    seasons = frozenset(int(season) for season in item.get("seasons", {}).get("NS", []))
    plain = from_wire({name: value for name, value in item.items() if name != "seasons"})
    return Resort(int(plain["resortID"]), plain.get("resortName"), seasons, plain.get("doubtfulUntil", 0))
