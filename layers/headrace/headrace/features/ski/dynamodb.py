"""Resorts and their seasons in DynamoDB."""

from __future__ import annotations

from collections.abc import Iterable

from headrace.core.items import Item
from headrace.features.ski.resorts import Resort
from headrace.runtime.aws import AwsClient
from headrace.runtime.setting_forms import Settings, TableName
from headrace.storage.dynamodb.client import DynamoTable


class ResortSettings(Settings):
    """Where resorts and their seasons are."""

    resorts_table: TableName
    """Table of resorts and seasons."""


class Resorts:
    """Resorts in a table that has one row per resort. Every method may raise StoreUnavailable."""

    def __init__(self, client: AwsClient, table: str) -> None:
        self._table = DynamoTable(client, table, "resorts")

    def get(self, resort_id: int) -> Resort:
        """The resort as of now; an unknown one has no seasons."""
        row = self._table.get(_key(resort_id))
        return Resort(resort_id) if row is None else _resort(row)

    def every(self) -> list[Resort]:
        # A few hundred resorts exist in the world, so a scan reads one page.
        """All resorts that have a season, by id."""
        resorts = map(_resort, self._table.scan_all())
        return sorted((each for each in resorts if each.seasons), key=lambda resort: resort.resort_id)

    def add_season(self, resort_id: int, season: int, name: str | None = None) -> None:
        """Add a season, and an unknown resort. ``name`` replaces its name."""
        values: Item = {":season": {season}}
        expression = "ADD seasons :season"
        if name is not None:
            expression += " SET resortName = :name"
            values[":name"] = name
        self._table.update(_key(resort_id), expression, values)

    def invalidate_counts(self, resort_ids: Iterable[int], until: int) -> None:
        """Invalidate counts of these resorts that were started before ``until`` (epoch milliseconds)."""
        condition = "attribute_not_exists(doubtfulUntil) OR doubtfulUntil < :until"
        for resort_id in resort_ids:
            self._table.update_if(condition, _key(resort_id), "SET doubtfulUntil = :until", {":until": until})


def stage_resorts(client: AwsClient) -> Resorts:
    """The resorts of the stage, through a client of DynamoDB."""
    return Resorts(client, ResortSettings.read().resorts_table)


def _key(resort_id: int) -> Item:
    return {"resortID": str(resort_id)}


def _resort(row: Item) -> Resort:
    seasons = frozenset(row.get("seasons", ()))
    return Resort(int(row["resortID"]), row.get("resortName"), seasons, row.get("doubtfulUntil", 0))
