"""Exchanges the counts of all environments through Redis or Valkey: the events of each sender by slot.

A sender has one hash per ``WINDOW_SECONDS`` of time, with a field for each slot and one for the slot in which its
closed window opens. A hash expires once its slots have left every window.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headrace.api.rates.sliding_window import SLOTS, WINDOW_SECONDS, Counts
from headrace.storage.cache import Commands

EXPIRE_SECONDS = int(2 * WINDOW_SECONDS) + 1
_RESUME = "resume"


class SharedCounts:
    """Adds the counts of this environment to those of the others."""

    def __init__(self, cache: Commands) -> None:
        self._cache = cache

    def exchange(self, reports: Mapping[str, Counts], slot: int) -> list[Counts]:
        """Add ``reports`` by sender's key and return the counts of all environments, in order, in one round trip.

        Raises:
            CacheUnavailable: there was no answer; the reports may have been added or not.
        """
        window = slot // SLOTS
        writes: list[tuple[Any, ...]] = []
        reads = []
        for key, report in reports.items():
            writes += [("HINCRBY", f"{key}:{at // SLOTS}", at, events) for at, events in report.events.items()]
            if report.resume_slot > slot:
                writes.append(("HSET", f"{key}:{window}", _RESUME, report.resume_slot))
            reads += [("HGETALL", f"{key}:{window - 1}"), ("HGETALL", f"{key}:{window}")]
        expires = [("EXPIRE", key, EXPIRE_SECONDS) for key in dict.fromkeys(write[1] for write in writes)]
        hashes = self._cache.run([*writes, *expires, *reads])[len(writes) + len(expires) :]
        return [_counts(previous | current) for previous, current in zip(hashes[::2], hashes[1::2], strict=True)]


def _counts(fields: Mapping[bytes, bytes]) -> Counts:
    counts = {field.decode(): int(value) for field, value in fields.items()}
    resume_slot = counts.pop(_RESUME, 0)
    return Counts({int(slot): events for slot, events in counts.items()}, resume_slot)
