"""What is kept of a user in declared events: those of every stream of the table, also of streams that were removed.

The events stay, so that counts stay as they are, with a pseudonym and without secrets. These are also kept from
operators who look at dead letters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from headrace.core.collections import parts
from headrace.core.errors import StoreUnavailable
from headrace.core.items import Item
from headrace.core.people import AT_ONCE, PART, Pages, Progress, Source, Step, Target
from headrace.core.stream import EventScreen, Hidden
from headrace.delivery.records import UNKNOWN_STREAM
from headrace.features.analytics.late_events import late
from headrace.features.declared.folder import events
from headrace.features.declared.stream import SECRETS, USER, USER_INDEX, shown, stream_name
from headrace.runtime.setting_forms import Settings, TableName
from headrace.runtime.settings import table_settings
from headrace.runtime.threads import Parallel
from headrace.services.shared import dynamodb
from headrace.storage.dynamodb import client
from headrace.storage.dynamodb.client import DynamoTable

KIND = "events"
WITHHELD = "withheld: a Secret"


class DeclaredSettings(Settings):
    """Where the events of declared streams are."""

    declared_table: TableName
    """Table of the declared streams."""


def tables() -> list[DynamoTable]:
    """The table of declared streams, and those that some streams have to themselves."""
    own = [each.stream for each in events().values() if each.declared.table == "own"]
    names = [DeclaredSettings.read().declared_table, *(table_settings(stream).table for stream in own)]
    return [DynamoTable(dynamodb(), name, KIND) for name in names]


def steps() -> list[Step]:
    return [partial(erase_events, table) for table in tables()]


def sources(user_id: str, _skier_id: str | None) -> list[Source]:
    return [partial(_lines, table, user_id) for table in tables()]


def erase_events(table: DynamoTable, target: Target) -> Progress:
    """Put a pseudonym in place of the user, and remove secrets."""
    parallel = Parallel(AT_ONCE, "erasure")
    for rows in parts(client.rows_of(_events_of(table, target.user_id)), PART):
        # Before the rows change: afterwards, they are not found again.
        _mark(rows)
        yield KIND, sum(parallel.map(partial(_erase, table, target), rows))


def _events_of(table: DynamoTable, user_id: str, start: Item | None = None) -> client.Pages:
    return table.query_pages(USER, user_id, start, IndexName=USER_INDEX.name)


def _mark(rows: Sequence[Item]) -> None:
    for name in {stream_name(row) for row in rows} & events().keys():
        if any(late(events()[name].stream)([row for row in rows if stream_name(row) == name])):
            raise StoreUnavailable("analytics cannot be marked as changed right now")


def _erase(table: DynamoTable, target: Target, row: Item) -> bool:
    removed = {f"#s{at}": name for at, name in enumerate([*row.get(SECRETS, ()), SECRETS] if SECRETS in row else [])}
    expression = f"SET {USER} = :name" + (f" REMOVE {', '.join(removed)}" if removed else "")
    names = {"ExpressionAttributeNames": removed} if removed else {}
    key = {name: row[name] for name in ("streamKey", "timestampSk")}
    values: Item = {":user": target.user_id, ":name": target.pseudonym}
    return table.update_if(f"{USER} = :user", key, expression, values, **names)


def _lines(table: DynamoTable, user_id: str, start: Item | None) -> Pages:
    for rows, place in _events_of(table, user_id, start):
        yield [(KIND, {name: shown(value) for name, value in row.items()}) for row in rows], place


def screens() -> dict[str, EventScreen]:
    """What is withheld of the events of each declared stream, and of those that are declared no more."""
    return dict.fromkeys((*events(), UNKNOWN_STREAM), without_secrets)


def without_secrets(events: Sequence[Any]) -> Mapping[int, Hidden]:
    """An :data:`.EventScreen` that withholds what an event has as ``secrets``."""
    return {
        at: Hidden({**event, "secrets": WITHHELD})
        for at, event in enumerate(events)
        if isinstance(event, dict) and event.get("secrets")
    }
