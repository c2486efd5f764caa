"""Stubs of clicks in memory, for tests."""

from __future__ import annotations

from headrace.core.errors import StoreUnavailable
from headrace.core.items import Item
from tests.fakes.storage import MemoryStore


class MemoryStubs:
    """Takes clicks back as :class:`~headrace.features.ads.dynamodb.DynamoStubs` does, beside the rows of ``store``."""

    def __init__(self, store: MemoryStore, table: str) -> None:
        self._store = store
        self._table = table

    def take_back(self, stub: Item) -> str:
        if self._store.down:
            raise StoreUnavailable("the table is unavailable")
        rows, key = self._store.tables[self._table], (stub["clickId"], stub["sender"])
        row = rows.get(key, {})
        place: str = row.get("timestampSk") or row.get("takenFrom", "")
        rows[key] = {**stub, "takenFrom": place}
        return place
