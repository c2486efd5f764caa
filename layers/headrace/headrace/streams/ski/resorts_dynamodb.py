"""Resorts in DynamoDB: one item each, in a table that holds nothing else."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from headrace.core.items import from_wire
from headrace.storage.dynamodb.client import ConditionFailed, DynamoTable, Wire
from headrace.streams.ski.resorts import Resort


class DynamoResorts:
    """Resorts through a botocore DynamoDB client."""

    def __init__(self, client: Any, table: str) -> None:
        self._table = DynamoTable(client, table, "resorts")

    def get(self, resort_id: int) -> Resort:
        row = self._table.get(_key(resort_id))
        return Resort(resort_id) if row is None else _resort(row)

    def every(self) -> list[Resort]:
        """All resorts that have a season. There are some hundreds in the world, so a scan is a page."""
        resorts = map(_resort, self._table.scan_all())
        return sorted((each for each in resorts if each.seasons), key=lambda resort: resort.resort_id)

    def add_season(self, resort_id: int, season: int, name: str | None = None) -> bool:
        """Add a season: an ADD to a set, so that two at the same time are both kept, and a repeated one is one."""
        values: dict[str, dict[str, Any]] = {":season": {"NS": [str(season)]}}
        expression = "ADD seasons :season"
        if name is not None:
            expression += " SET resortName = :name"
            values[":name"] = {"S": name}
        before = self._table.update(_key(resort_id), expression, values, ReturnValues="ALL_OLD")
        return str(season) not in before.get("seasons", {}).get("NS", ())

    def doubt(self, resort_ids: Iterable[int], until: int) -> None:
        """Invalidate counts that were begun before ``until``; it never moves back."""
        condition = "attribute_not_exists(doubtfulUntil) OR doubtfulUntil < :until"
        values = {":until": {"N": str(until)}}
        for resort_id in resort_ids:
            with suppress(ConditionFailed):
                self._table.update(_key(resort_id), "SET doubtfulUntil = :until", values, ConditionExpression=condition)


def _key(resort_id: int) -> Wire:
    return {"resortID": {"S": str(resort_id)}}


def _resort(item: Wire) -> Resort:
    seasons = frozenset(int(season) for season in item.get("seasons", {}).get("NS", []))
    plain = from_wire({name: value for name, value in item.items() if name != "seasons"})
    return Resort(int(plain["resortID"]), plain.get("resortName"), seasons, plain.get("doubtfulUntil", 0))
