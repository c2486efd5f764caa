"""Cache keys of analytics slots."""

from __future__ import annotations

import zlib
from collections.abc import Iterable

SLOT_GROUPS = 16
"""Groups of slots that are lost together: keys of one group lie in one slot of a cluster, so on one node."""


def slot_group(number: int) -> str:
    """The cache key of what tells how long the cache has remembered the generations of one group of slots."""
    return f"{{slots.{number}}}:since"


def slot_group_of(stream: str, step: int, start: int) -> int:
    """The group of a slot."""
    return zlib.crc32(f"{stream}:{step}:{start}".encode()) % SLOT_GROUPS


def slot_generation(stream: str, step: int, start: int) -> str:
    """The cache key of a slot's generation: every aggregate of that slot, narrowed or not, belongs to one."""
    return f"{{slots.{slot_group_of(stream, step, start)}}}:generation:{stream}:{step}:{start}"


def slot_aggregate(stream: str, step: int, start: int, narrowed: Iterable[tuple[str, str]] = ()) -> str:
    """The cache key of a slot's aggregate, of all rows or of those ``narrowed`` to values of attributes."""
    return f"slot:{stream}:{step}:{start}" + "".join(f"#{name}#{value}" for name, value in narrowed)


def slot_builder(stream: str, start: int, narrowed: Iterable[tuple[str, str]] = ()) -> str:
    """The cache key of the lock of whoever reads the minutes of the hour from ``start``."""
    return f"slot-builder:{stream}:{start}" + "".join(f"#{name}#{value}" for name, value in narrowed)
