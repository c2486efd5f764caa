"""Measures the cost of one slot of analytics, by its number of users: ``python -m bench.analytics.slots``.

User ids are random UUIDs, which compress worst. For comparison it measures JSON, compressed by the same zlib. Times
are medians of the rounds.
"""

from __future__ import annotations

import json
import random
import time
import tracemalloc
import uuid
import zlib
from collections.abc import Callable
from statistics import median

from bench.rounds import Series, command, figure, head, ratio

ROOMS, SHARDS = 20, 8


def slot_costs(rounds: int) -> list[Series]:
    """Print the table; returns its numbers."""
    from headrace.analytics.aggregate import Aggregate
    from headrace.analytics.codec import decode, encode
    from headrace.analytics.counter import IdCounter

    chance = random.Random(3)
    seen: list[Series] = []
    print()
    head("users in a slot", "in the cache", "encode", "decode", "as JSON", "decode", "in memory", "merge")
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
        times = [
            _times(lambda: encode(whole, SHARDS), rounds),  # noqa: B023 - called at once
            _times(lambda: decode(packed), rounds),  # noqa: B023
            _times(lambda: json.loads(zlib.decompress(as_json)), rounds),  # noqa: B023
            _times(lambda: merged.merge(found), rounds),  # noqa: B023
        ]
        encoding, decoding, json_decoding, merging = map(median, times)
        columns = [
            f"{users:,}" + ("" if found.tallies[0].exact else " (approximate)"),
            f"{len(packed) / 1000:,.1f} kB",
            f"{encoding:.2f} ms",
            f"{decoding:.2f} ms",
            f"{len(as_json) / 1000:,.1f} kB",
            f"{json_decoding:.2f} ms",
            f"{memory / 1000:,.0f} kB",
            f"{merging:.2f} ms",
        ]
        print("| " + " | ".join(columns) + " |", flush=True)
        where = f"slot of {users:,} users"
        seen += [
            ratio(f"{where}, bytes in the cache against JSON", [len(packed)], [len(as_json)], "lower"),
            ratio(f"{where}, time to decode against JSON", times[1], times[2], "lower"),
            figure(f"{where}, time to encode", times[0], "ms"),
            figure(f"{where}, time to merge", times[3], "ms"),
        ]
    return seen


def _times(call: Callable[[], object], rounds: int) -> list[float]:
    """Milliseconds per round."""
    seen = []
    for _ in range(rounds):
        began = time.perf_counter()
        call()
        seen.append((time.perf_counter() - began) * 1000)
    return seen


if __name__ == "__main__":
    command(__doc__, slot_costs, 9)
