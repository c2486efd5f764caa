"""Breakers around tables open at outages, and not at throttling or poison."""

from __future__ import annotations

from typing import Any

from headrace.core.errors import PoisonRecord, StoreThrottled, StoreUnavailable
from headrace.storage.ports import GuardedStore, Table
from tests.fakes.storage import MemoryStore
from tests.unit.runtime.test_breaker import SETTINGS

TABLE = Table("Messages", ("roomId", "timestampSk"))


def item(number: int, room: str = "kitchen") -> dict[str, Any]:
    return {"roomId": room, "timestampSk": str(number)}


def test_the_breaker_of_one_table_does_not_affect_another() -> None:
    memory = MemoryStore()
    store = GuardedStore(memory, SETTINGS)
    memory.down = True
    for _ in range(10):
        store.put_many(TABLE, [item(1)])
    memory.down = False

    assert store.put_many(Table("Other", TABLE.key), [item(1)]) == [None]
    assert isinstance(store.put_many(TABLE, [item(1)])[0], StoreUnavailable)


def test_throttling_and_poison_open_no_breaker() -> None:
    memory = MemoryStore()
    store = GuardedStore(memory, SETTINGS)
    memory.throttled = lambda row: row["roomId"] == "hot"

    for _ in range(30):
        hot, poison = store.put_many(TABLE, [item(1, "hot")]), store.put_many(TABLE, [item(1, "")])
        assert isinstance(hot[0], StoreThrottled)
        assert isinstance(poison[0], PoisonRecord)

    assert store.put_many(TABLE, [item(1)]) == [None]
