"""Stubs of clicks in memory, for tests."""

from __future__ import annotations

from headrace.core.errors import StoreUnavailable
from headrace.core.items import Item
from tests.fakes.storage import MemoryStore


def make_stub(store: MemoryStore, table: str, stub: Item) -> str:
    """As :func:`headrace.features.ads.storing.make_stub`, of the rows of ``store``."""
    if store.down:
        raise StoreUnavailable("the table is unavailable")
    rows, key = store.tables[table], (stub["clickId"], stub["sender"])
    row = rows.get(key, {})
    place: str = row.get("timestampSk") or row.get("takenFrom", "")
    rows[key] = {**stub, "takenFrom": place}
    return place
