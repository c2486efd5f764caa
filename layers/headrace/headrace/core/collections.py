"""Divides sequences into groups that a service accepts in one call, and bounds what an environment remembers."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TypeVar

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")


def slices(items: Sequence[T], most: int) -> list[Sequence[T]]:
    """``items`` in order, in groups of at most ``most``."""
    return [items[at : at + most] for at in range(0, len(items), most)]


def parts(items: Iterable[T], most: int) -> Iterator[list[T]]:
    """As :func:`slices`, of items that are read one after the other."""
    source = iter(items)
    while part := list(islice(source, most)):
        yield part


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


class BoundedDict(OrderedDict[K, V]):
    """A dict of at most ``limit`` entries: beyond that, the entry that was set least recently is dropped.

    Reading an entry does not renew it. Call :meth:`move_to_end` after a read for least-recently-used order.
    """

    def __init__(self, limit: int) -> None:
        super().__init__()
        self._limit = limit

    def __setitem__(self, key: K, value: V) -> None:
        """Set an entry, and make it the most recent one."""
        self.pop(key, None)
        super().__setitem__(key, value)
        if len(self) > self._limit:
            self.popitem(last=False)
