"""What is kept of a user in clicks. They stay, so that counts of ads stay as they are, with a pseudonym."""

from __future__ import annotations

from functools import partial

from headrace.core.collections import parts
from headrace.core.errors import StoreUnavailable
from headrace.core.items import Item
from headrace.core.people import AT_ONCE, PART, Progress, Source, Step, Target, lines_of
from headrace.core.stream import Hook
from headrace.features.ads.storing import click_table, key_of
from headrace.features.ads.stream import ADS, USER_INDEX
from headrace.features.analytics.late_events import late
from headrace.runtime.threads import Parallel
from headrace.storage.dynamodb import client
from headrace.storage.dynamodb.client import DynamoTable


def clicks_of(clicks: DynamoTable, user_id: str, start: Item | None = None) -> client.Pages:
    """The keys of the user's clicks, and what their index has."""
    return clicks.query_pages("userId", user_id, start, IndexName=USER_INDEX.name)


def erase_clicks(table: DynamoTable, late: Hook, target: Target) -> Progress:
    """Put a pseudonym in place of the user, and remove the hashed address."""
    parallel = Parallel(AT_ONCE, "erasure")
    for rows in parts(client.rows_of(clicks_of(table, target.user_id)), PART):
        # Before the rows change: afterwards, they are not found again.
        if any(late(rows)):
            raise StoreUnavailable("analytics cannot be marked as changed right now")
        yield "clicks", sum(parallel.map(partial(_erase, table, target), rows))


def _erase(table: DynamoTable, target: Target, row: Item) -> bool:
    values: Item = {":user": target.user_id, ":name": target.pseudonym}
    return table.update_if("userId = :user", key_of(row), "SET userId = :name REMOVE addressHash", values)


def steps() -> list[Step]:
    return [partial(erase_clicks, click_table(), late(ADS))]


def sources(user_id: str, _skier_id: str | None) -> list[Source]:
    clicks = click_table()
    return [partial(lines_of, "clicks", clicks_of, clicks, user_id, shown=partial(whole, clicks))]


def whole(clicks: DynamoTable, rows: list[Item]) -> list[Item]:
    """The whole rows of those in the index."""
    return clicks.get_many([*map(key_of, rows)])
