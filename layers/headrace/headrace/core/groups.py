"""Divides what is sent into groups that a service accepts in one call."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

T = TypeVar("T")


def slices(items: Sequence[T], most: int) -> list[Sequence[T]]:
    """``items`` in order, in groups of at most ``most``."""
    return [items[at : at + most] for at in range(0, len(items), most)]


def groups(sized: Iterable[tuple[T, int]], most: int, most_bytes: int) -> list[list[T]]:
    """Items given with their sizes, in order, in groups of at most ``most`` items and ``most_bytes``.

    An item that is larger than ``most_bytes`` has its own group.
    """
    found: list[list[T]] = []
    total = 0
    for item, size in sized:
        if not found or len(found[-1]) == most or total + size > most_bytes:
            found.append([])
            total = 0
        found[-1].append(item)
        total += size
    return found
