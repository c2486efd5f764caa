"""Resorts and their seasons, and until when the counts of a resort's days are invalid."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Protocol

from headrace.core.errors import FieldError, NotFound
from headrace.core.items import Item
from headrace.runtime.aws import AwsClient
from headrace.storage.dynamodb.client import DynamoTable


@dataclass(frozen=True, slots=True)
class Resort:
    """A resort; one that was never added has no seasons.

    ``invalid_until`` is in epoch milliseconds: counts of its days that were started before then may miss rides.
    """

    resort_id: int
    name: str | None = None
    seasons: frozenset[int] = field(default=frozenset())
    invalid_until: int = 0

    def require(self, season: int) -> None:
        """Raise NotFound, with the seasons that exist, unless ``season`` is one of this resort's."""
        if season not in self.seasons:
            raise unknown_season(season, self)


class Resorts(Protocol):
    """Stores resorts. Every method may raise StoreUnavailable."""

    def get(self, resort_id: int) -> Resort:
        """The resort as of now; an unknown one has no seasons."""
        ...

    def every(self) -> list[Resort]:
        """All resorts that have a season, by id."""
        ...

    def add_season(self, resort_id: int, season: int, name: str | None = None) -> bool:
        """Add a season, and an unknown resort. ``name`` replaces its name. Returns whether the season is new."""
        ...

    def invalidate_counts(self, resort_ids: Iterable[int], until: int) -> None:
        """Invalidate counts of these resorts that were started before ``until`` (epoch milliseconds)."""
        ...


class DynamoResorts:
    """:class:`Resorts` in a table that has one row per resort."""

    def __init__(self, client: AwsClient, table: str) -> None:
        self._table = DynamoTable(client, table, "resorts")

    def get(self, resort_id: int) -> Resort:
        row = self._table.get(_key(resort_id))
        return Resort(resort_id) if row is None else _resort(row)

    def every(self) -> list[Resort]:
        # A few hundred resorts exist in the world, so a scan reads one page.
        resorts = map(_resort, self._table.scan_all())
        return sorted((each for each in resorts if each.seasons), key=lambda resort: resort.resort_id)

    def add_season(self, resort_id: int, season: int, name: str | None = None) -> bool:
        values: Item = {":season": {season}}
        expression = "ADD seasons :season"
        if name is not None:
            expression += " SET resortName = :name"
            values[":name"] = name
        before = self._table.update(_key(resort_id), expression, values, ReturnValues="ALL_OLD")
        return season not in before.get("seasons", ())

    def invalidate_counts(self, resort_ids: Iterable[int], until: int) -> None:
        condition = "attribute_not_exists(doubtfulUntil) OR doubtfulUntil < :until"
        for resort_id in resort_ids:
            self._table.update_if(condition, _key(resort_id), "SET doubtfulUntil = :until", {":until": until})


def _key(resort_id: int) -> Item:
    return {"resortID": str(resort_id)}


def _resort(row: Item) -> Resort:
    seasons = frozenset(row.get("seasons", ()))
    return Resort(int(row["resortID"]), row.get("resortName"), seasons, row.get("doubtfulUntil", 0))


def unknown_season(season: int, *asked: Resort, field: str = "seasonID") -> NotFound:
    """The error for an unknown ``season``; it lists the seasons of the resorts ``asked``."""
    known = sorted(set().union(*(resort.seasons for resort in asked)))
    what = ", ".join(map(str, known[-10:])) or "none yet"
    where = f"resort {asked[0].resort_id}" if len(asked) == 1 else "any resort asked for"
    allowed = f"a season of {where}: {what}; POST /resorts/{{resortID}}/seasons adds one"
    message = f"is not a season of {where}"
    return NotFound(f"{field} {message}", details=[FieldError(field, message, season, allowed)])
