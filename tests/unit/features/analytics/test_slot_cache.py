"""P9: cached slots are never stale after the settling time, and save reads of the table."""

from __future__ import annotations

from headrace.core import keys, times
from tests.worlds.slot_world import NOW, SETTLE, total, watched, world_with


def test_a_new_minute_costs_only_itself() -> None:
    """Fault 10: a cache key that contains the current time."""
    world = world_with(*(NOW - number * times.MINUTE for number in range(1, 40)))
    total(world)
    world.put(world.row(NOW + 30 * times.SECOND, message_id="new"))
    world.clock.advance(60 + SETTLE)

    query = {"from": times.iso(NOW - 59 * times.MINUTE), "to": times.iso(NOW + times.MINUTE)}
    seen = watched(world)

    assert total(world, query) == 40
    starts = {each.lower for each in seen}
    assert times.iso(NOW) in starts
    # The first ten minutes of the window were cached as one slot; it now needs nine of these minutes.
    assert len(seen) == 2


def test_a_slot_built_from_fewer_shards_is_not_used_for_more() -> None:
    world = world_with(NOW - times.MINUTE)
    row = world.row(NOW - times.MINUTE, message_id="grown") | {"bucketId": keys.shard_names(8)[5]}
    world.put(row)
    world.clock.advance(SETTLE + 3)

    assert total(world) == 1
    assert total(world, reader=world.reader(shards=6)) == 2
    assert total(world, reader=world.reader(shards=6)) == 2


def test_expired_rows_are_also_excluded_from_cached_slots() -> None:
    world = world_with()
    expires = NOW // times.SECOND + 600
    world.put(world.row(NOW - times.MINUTE, message_id="a", expires=expires))
    world.put(world.row(NOW - times.MINUTE, message_id="b"))
    world.clock.advance(SETTLE + 3)
    assert [total(world), total(world)] == [2, 2]

    world.clock.advance(600)

    assert [total(world), total(world)] == [1, 1]
