"""Takes back clicks that are stored: their rows become stubs, and the counts that had them are read again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from headrace.core.errors import StoreUnavailable
from headrace.core.items import Item
from headrace.core.stream import Hook
from headrace.features.ads.stream import ADS, ATTRIBUTES, PLACE, TAKEN_BACK
from headrace.runtime.settings import table_settings
from headrace.services.shared import dynamodb
from headrace.storage.dynamodb.client import ConditionFailed, DynamoTable

MakeStub = Callable[[Item], str]
"""Makes a row a stub; the ``timestampSk`` of its click, empty without one. May raise StoreUnavailable."""
GONE = {*ATTRIBUTES.values(), *(key for each in ADS.indexes for key in (each.partition_key, each.sort_key))}
GONE -= {ADS.partition_key, ADS.sort_key}
"""The attributes that a stub has not."""
_NAMES = {f"#{at}": name for at, name in enumerate(sorted(GONE))}


def known() -> list[tuple[str, Hook]]:
    return [(ADS.name, partial(take_back, partial(make_stub, click_table())))]


def click_table() -> DynamoTable:
    """The table of clicks."""
    return DynamoTable(dynamodb(), table_settings(ADS).table, "clicks")


def key_of(row: Item) -> Item:
    """The key of a row of clicks."""
    return {"clickId": row["clickId"], "sender": row["sender"]}


def take_back(make: MakeStub, items: Sequence[Item]) -> Sequence[StoreUnavailable | None]:
    """The hook of clicks, and of what takes them back, whose keys have a row already: this row becomes a stub.

    What takes a click back gets its place, so that the hook of late events marks the slots that had counted it.
    """

    def outcome(item: Item) -> StoreUnavailable | None:
        try:
            if TAKEN_BACK in item and (place := make(item)):
                item["timestampSk"] = place
        except StoreUnavailable as error:
            return error
        return None

    return list(map(outcome, items))


def make_stub(table: DynamoTable, stub: Item) -> str:
    """The :data:`MakeStub` of the table."""
    values: Item = {":true": True}
    changes = f"{TAKEN_BACK} = :true"
    if "expiresAt" in stub:
        changes += ", expiresAt = :expires"
        values[":expires"] = stub["expiresAt"]
    try:
        row = table.update(
            key_of(stub),
            f"SET {changes}, {PLACE} = timestampSk REMOVE {', '.join(_NAMES)}",
            values,
            ExpressionAttributeNames=_NAMES,
            ConditionExpression="attribute_exists(timestampSk)",
            ReturnValues="UPDATED_NEW",
        )
    except ConditionFailed:
        # The role may only see what it sets.
        changes += f", {PLACE} = if_not_exists({PLACE}, :nowhere)"
        row = table.update(key_of(stub), f"SET {changes}", {**values, ":nowhere": ""}, ReturnValues="UPDATED_NEW")
    return str(row[PLACE])
