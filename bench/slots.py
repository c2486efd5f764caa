"""Measures the cost of one slot of analytics, by its number of users: ``python -m bench.slots``.

User ids are random UUIDs, which compress worst. For comparison it measures JSON, compressed by the same zlib.
"""

from __future__ import annotations

import json
import random
import time
import tracemalloc
import uuid
import zlib
from collections.abc import Callable

ROOMS, SHARDS = 20, 8


def slot_costs() -> None:
    """Print the table."""
    from headrace.analytics.aggregate import Aggregate
    from headrace.analytics.codec import decode, encode
    from headrace.analytics.counter import IdCounter

    chance = random.Random(3)
    print("\n| users in a slot | in the cache | encode | decode | as JSON | decode | in memory | merge |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for users in (100, 10_000, 100_000, 1_000_000):
        counts = {str(uuid.UUID(int=chance.getrandbits(128))): 1 + chance.randrange(9) for _ in range(users)}
        rooms = {f"room-{number}": users // ROOMS for number in range(ROOMS)}
        whole = Aggregate((IdCounter(dict(counts)), IdCounter(rooms)), sum(counts.values()), "f" * 27, "l" * 27)
        packed = encode(whole, SHARDS)
        as_json = zlib.compress(json.dumps([counts, rooms]).encode(), 1)
        tracemalloc.start()
        found = decode(packed)
        memory = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
        merged = Aggregate.nothing(2)
        merged.merge(found)
        rounds = 3 if users > 10_000 else 30
        columns = [
            f"{users:,}" + ("" if found.tallies[0].exact else " (approximate)"),
            f"{len(packed) / 1000:,.1f} kB",
            f"{_best(lambda: encode(whole, SHARDS), rounds):.2f} ms",  # noqa: B023 - called at once
            f"{_best(lambda: decode(packed), rounds):.2f} ms",  # noqa: B023
            f"{len(as_json) / 1000:,.1f} kB",
            f"{_best(lambda: json.loads(zlib.decompress(as_json)), rounds):.2f} ms",  # noqa: B023
            f"{memory / 1000:,.0f} kB",
            f"{_best(lambda: merged.merge(found), rounds):.2f} ms",  # noqa: B023
        ]
        print("| " + " | ".join(columns) + " |", flush=True)


def _best(call: Callable[[], object], rounds: int) -> float:
    seen = []
    for _ in range(rounds):
        began = time.perf_counter()
        call()
        seen.append((time.perf_counter() - began) * 1000)
    return min(seen)


if __name__ == "__main__":
    slot_costs()
