"""Takes back clicks that are stored: their rows become stubs, and the counts that had them are read again."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from headrace.core.errors import StoreUnavailable
from headrace.core.items import Item
from headrace.core.stream import Hook
from headrace.features.ads.dynamodb import DynamoStubs
from headrace.features.ads.stream import ADS, TAKEN_BACK
from headrace.runtime.settings import table_settings
from headrace.services.shared import dynamodb


def taken_back(stubs: DynamoStubs, items: Sequence[Item]) -> Sequence[StoreUnavailable | None]:
    """The hook of clicks, and of what takes them back, whose keys have a row already: this row becomes a stub.

    What takes a click back gets its place, so that the hook of late events marks the slots that had counted it.
    """
    return [_take_back(stubs, item) if TAKEN_BACK in item else None for item in items]


def _take_back(stubs: DynamoStubs, item: Item) -> StoreUnavailable | None:
    try:
        if place := stubs.take_back(item):
            item["timestampSk"] = place
    except StoreUnavailable as error:
        return error
    return None


def known() -> list[tuple[str, Hook]]:
    return [(ADS.name, partial(taken_back, DynamoStubs(dynamodb(), table_settings(ADS).table)))]
