"""Runs several calls at once, in threads that an environment keeps."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


class Parallel:
    """Up to ``threads`` calls at once. The threads start with the first calls that need them."""

    def __init__(self, threads: int, name: str) -> None:
        self._pool = ThreadPoolExecutor(threads, name)

    def map(self, call: Callable[[T], R], arguments: Sequence[T]) -> list[R]:
        """The results, in order. A single call is made in the caller's thread; an exception of a call is raised."""
        return list(self.each(call, arguments))

    def each(self, call: Callable[[T], R], arguments: Sequence[T]) -> Iterator[R]:
        """As :meth:`map`; each result can be used while later calls run."""
        return map(call, arguments) if len(arguments) < 2 else self._pool.map(call, arguments)
