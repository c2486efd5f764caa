"""Takes back clicks that are stored: their rows become stubs, and the counts that had them are read again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from headrace.core.errors import StoreUnavailable
from headrace.core.items import Item
from headrace.features.ads.stream import TAKEN_BACK


class StubStore(Protocol):
    """The table of clicks."""

    def take_back(self, stub: Item) -> str:
        """Make a row a stub; the ``timestampSk`` of its click, empty without one. May raise StoreUnavailable."""


class KnownClicks:
    """The hook of clicks, and of what takes them back, whose keys have a row already: this row becomes a stub.

    What takes a click back gets its place, so that the hook of late events marks the slots that had counted it.
    """

    def __init__(self, store: StubStore) -> None:
        self._store = store

    def known(self, items: Sequence[Item]) -> Sequence[StoreUnavailable | None]:
        return [self._take_back(item) if TAKEN_BACK in item else None for item in items]

    def _take_back(self, item: Item) -> StoreUnavailable | None:
        try:
            if place := self._store.take_back(item):
                item["timestampSk"] = place
        except StoreUnavailable as error:
            return error
        return None
