"""Erases a skier from rides. They stay, so that counts of resorts stay as they are, under a pseudonym."""

from __future__ import annotations

from headrace.core.collections import parts
from headrace.core.items import Item
from headrace.core.times import Clock
from headrace.erasure.finders import rides_of
from headrace.erasure.tasks import Progress, Target
from headrace.runtime.aws import AwsClient
from headrace.storage.dynamodb.client import WRITE_LIMIT, DynamoTable, rows_of
from headrace.streams.ski.day_counts import INVALID_FOR
from headrace.streams.ski.resorts import Resorts
from headrace.streams.ski.stream import parse_resort_day


class RideEraser:
    """The step for the table of rides."""

    def __init__(self, client: AwsClient, table: str, resorts: Resorts, clock: Clock) -> None:
        self._table = DynamoTable(client, table, "rides")
        self._resorts = resorts
        self._clock = clock

    def rides(self, target: Target) -> Progress:
        """Move the rides of the skier to a pseudonym. Until each has moved, it counts for both."""
        if target.skier_id is None:
            return
        for rows in parts(rows_of(rides_of(self._table, target.skier_id)), WRITE_LIMIT):
            # Before the rows change, since they are not found again; and afterwards, for what was counted meanwhile.
            self._invalidate(rows)
            self._table.put_many([{**row, "skierID": target.skier_pseudonym} for row in rows])
            self._table.delete_many(list(map(_key, rows)))
            self._invalidate(rows)
            yield "rides", len(rows)

    def _invalidate(self, rows: list[Item]) -> None:
        """Let the counts of the rides' days be made again: they know skiers by their ids."""
        resorts = {parse_resort_day(row["resortDayId"]).resort for row in rows}
        self._resorts.invalidate_counts(sorted(resorts), self._clock.now() // 1000 + INVALID_FOR)


def _key(row: Item) -> Item:
    return {"skierID": row["skierID"], "rideSk": row["rideSk"]}
