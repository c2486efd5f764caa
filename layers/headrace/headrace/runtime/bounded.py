"""A dict with a fixed capacity, for what an environment remembers between requests."""

from __future__ import annotations

from collections import OrderedDict
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


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
