"""In which order the records of one batch of the retry lane are touched, so that a killer takes no neighbours with it.

A killer is a record that ends the process (out of memory, out of time, a crash in a library). Whoever shares a batch
with it and comes after it is not touched, and has lost one of its receives all the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def received(record: Mapping[str, Any]) -> int:
    """How often SQS has given this record out, this time included."""
    return max(1, int(record.get("attributes", {}).get("ApproximateReceiveCount", "1")))


def groups(records: Sequence[Mapping[str, Any]]) -> list[list[int]]:
    """Indexes of ``records`` in groups to be settled one after the other.

    Records seen for the first time come first and together. Any other may be a killer and is alone, those with the
    fewest receives left first: what comes after a killer then outlives it. Among equals the order turns with every
    receive, so that of two records that meet again each is once before the other.
    """
    counts = [received(record) for record in records]
    first = [index for index, count in enumerate(counts) if count == 1]
    by_id = sorted(range(len(records)), key=lambda index: str(records[index]["messageId"]))
    rank = {index: place for place, index in enumerate(by_id)}

    def order(index: int) -> tuple[int, int]:
        return -counts[index], rank[index] if counts[index] % 2 else -rank[index]

    again = sorted((index for index, count in enumerate(counts) if count > 1), key=order)
    return ([first] if first else []) + [[index] for index in again]
