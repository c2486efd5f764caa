"""What is kept of a skier: rides. What erases and exports them."""

from __future__ import annotations

from functools import partial

from headrace.core.collections import parts
from headrace.core.items import Item
from headrace.core.people import Progress, Source, Step, Target, lines_of
from headrace.core.times import Clock
from headrace.features.ski.day_counts import INVALID_FOR
from headrace.features.ski.dynamodb import Resorts, stage_resorts
from headrace.features.ski.stream import SKI, parse_resort_day
from headrace.runtime.settings import table_settings
from headrace.services.shared import clock, dynamodb
from headrace.storage.dynamodb.client import WRITE_LIMIT, DynamoTable, Pages, rows_of


def rides_of(rides: DynamoTable, skier_id: str, start: Item | None = None) -> Pages:
    """The rides of a skier."""
    return rides.query_pages("skierID", skier_id, start, ConsistentRead=True)


def erase_rides(table: DynamoTable, resorts: Resorts, clock: Clock, target: Target) -> Progress:
    """Move the rides of the skier to a pseudonym, so that counts of resorts stay. Until one has moved, it counts twice.

    They are counted again before rows change, since they are not found again, and afterwards, for what was counted
    meanwhile.
    """
    if target.skier_id is None:
        return
    for rows in parts(rows_of(rides_of(table, target.skier_id)), WRITE_LIMIT):
        _count_again(resorts, rows, clock)
        table.put_many([{**row, "skierID": target.skier_pseudonym} for row in rows])
        table.delete_many([{"skierID": row["skierID"], "rideSk": row["rideSk"]} for row in rows])
        _count_again(resorts, rows, clock)
        yield "rides", len(rows)


def _count_again(resorts: Resorts, rows: list[Item], clock: Clock) -> None:
    """Let the counts of the rides' days be made again: they know skiers by their ids."""
    touched = {parse_resort_day(row["resortDayId"]).resort for row in rows}
    resorts.invalidate_counts(sorted(touched), clock.now() // 1000 + INVALID_FOR)


def steps() -> list[Step]:
    return [partial(erase_rides, _table(), stage_resorts(dynamodb()), clock())]


def sources(_user_id: str, skier_id: str | None) -> list[Source]:
    return [] if skier_id is None else [partial(lines_of, "rides", rides_of, _table(), skier_id)]


def _table() -> DynamoTable:
    return DynamoTable(dynamodb(), table_settings(SKI).table, "rides")
