"""Breakers around tables open at outages, and not at throttling or poison."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from headrace.core.errors import PoisonRecord, StoreThrottled, StoreUnavailable
from headrace.storage.ports import GuardedStore, Table
from tests.fakes.storage import MemoryStore
from tests.unit.runtime.test_breaker import SETTINGS, Time

TABLE = Table("Messages", ("roomId", "timestampSk"))


class CountingStore(MemoryStore):
    calls = 0

    def put_many(self, table: Table, items: Any) -> Any:
        self.calls += 1
        return super().put_many(table, items)


def item(number: int, room: str = "kitchen") -> dict[str, Any]:
    return {"roomId": room, "timestampSk": str(number)}


def test_an_unavailable_table_is_not_called_until_a_probe_succeeds() -> None:
    time, memory = Time(), CountingStore()
    store = GuardedStore(memory, replace(SETTINGS, monotonic=time.monotonic))
    memory.down = True
    for _ in range(50):
        assert [type(each) for each in store.put_many(TABLE, [item(1), item(2)])] == [StoreUnavailable] * 2
    assert memory.calls == 3

    memory.down = False
    time.seconds += 10

    assert store.put_many(TABLE, [item(1)]) == [None]
    assert store.put_many(TABLE, [item(2)]) == [None]
    assert len(memory.rows(TABLE.name)) == 2


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
