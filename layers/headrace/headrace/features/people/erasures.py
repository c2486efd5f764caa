"""Erasures in the Erasures table: one row per erased person, which is also the tombstone."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from headrace.core.items import Item
from headrace.features.people.jobs import DONE, RUNNING, Job
from headrace.runtime.aws import AwsClient
from headrace.storage.dynamodb.client import ConditionFailed, DynamoTable, to_wire

_COUNT = "count:"
"""How the attributes with counts begin."""
_SAME = "erasedAt = :erasedAt"
_STATE = {"ExpressionAttributeNames": {"#state": "state"}}


class DynamoErasures:
    """Erasures by the key of their person; every read is consistent. Every method may raise StoreUnavailable."""

    def __init__(self, client: AwsClient, table: str) -> None:
        self._table = DynamoTable(client, table, "erasures")

    def erased_at(self, keys: Collection[str]) -> dict[str, str]:
        rows = self._table.get_many([_key(key) for key in sorted(keys)])
        return {row["person"]: row["erasedAt"] for row in rows}

    def begin(self, key: str, at: str, beside: str | None = None) -> Job:
        # A new row: the counts of an earlier erasure are gone.
        row: Item = {**_key(key), **({} if beside is None else {"skier": beside})}
        return _erasure(begun(self._table, row, "erasedAt", at))

    def bury(self, key: str, at: str) -> None:
        """Leave a tombstone alone, without a task: for another person that an erasure names."""
        condition = "attribute_not_exists(erasedAt) OR erasedAt < :at"
        expression = "SET erasedAt = :at, #state = :done"
        self._table.update_if(condition, _key(key), expression, {":at": at, ":done": DONE}, **_STATE)

    def get(self, key: str) -> Job | None:
        row = self._table.get(_key(key))
        return None if row is None else _erasure(row)

    def add(self, key: str, erased_at: str, counts: Mapping[str, int]) -> None:
        """Add to the counts of the erasure that began at ``erased_at``."""
        names = {f"#c{number}": _COUNT + name for number, name in enumerate(counts)}
        values: Item = {f":c{number}": count for number, count in enumerate(counts.values())}
        added = ", ".join(f"#c{number} :c{number}" for number in range(len(counts)))
        self._table.update_if(
            _SAME, _key(key), f"ADD {added}", {**values, ":erasedAt": erased_at}, ExpressionAttributeNames=names
        )

    def finish(self, key: str, erased_at: str, at: str) -> None:
        """End the erasure that began at ``erased_at``. An earlier one changes nothing."""
        values = {":erasedAt": erased_at, ":done": DONE, ":at": at}
        self._table.update_if(_SAME, _key(key), "SET #state = :done, doneAt = :at", values, **_STATE)


def begun(table: DynamoTable, row: Item, time: str, at: str) -> Item:
    """Put the row of a task that begins at ``at``, unless one is running, or was begun then or later.

    ``time`` is the attribute with the time. Returns the row that is there then.
    """
    row = {**row, time: at, "state": RUNNING}
    try:
        table.put(
            row,
            ConditionExpression=f"attribute_not_exists(person) OR (#state <> :running AND {time} < :at)",
            ExpressionAttributeValues=to_wire({":running": RUNNING, ":at": at}),
            ReturnValuesOnConditionCheckFailure="ALL_OLD",
            **_STATE,
        )
    except ConditionFailed as error:
        return error.row
    return row


def _key(key: str) -> Item:
    return {"person": key}


def _erasure(row: Item) -> Job:
    counts = {name.removeprefix(_COUNT): count for name, count in row.items() if name.startswith(_COUNT)}
    return Job(row["erasedAt"], row["state"], row.get("skier"), row.get("doneAt"), dict(sorted(counts.items())))
