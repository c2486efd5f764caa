"""Runs several calls at once, or periodic work beside the requests, in threads that an environment keeps."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import TypeVar

from headrace.runtime.observability import report_unexpected

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


class Background:
    """Runs one task at a time in a thread, at most once per ``period`` seconds.

    Lambda freezes an environment between two invocations, so tasks start within a request: call :meth:`run` with every
    one. The first task starts after ``delay`` seconds at the earliest. The request waits at most ``wait_seconds`` for a
    task that it starts. An exception of a task is reported. ``clock`` gives seconds, and may be set back.
    """

    def __init__(
        self,
        name: str,
        period: float,
        wait_seconds: float = 0.0,
        clock: Callable[[], float] = time.monotonic,
        delay: float = 0.0,
    ) -> None:
        self._pool = ThreadPoolExecutor(1, name)
        self._period = period
        self._wait_seconds = wait_seconds
        self._clock = clock
        self._started = clock() + delay - period
        self._running: Future[None] | None = None

    def run(self, task: Callable[[], None]) -> bool:
        """Start ``task``, unless the period is not over or the last task still runs. Returns whether it was started."""
        now = self._clock()
        if abs(now - self._started) < self._period or (self._running is not None and not self._running.done()):
            return False
        self._started = now
        self._running = self._pool.submit(_guarded, task)
        if self._wait_seconds:
            wait([self._running], self._wait_seconds)
        return True


def _guarded(task: Callable[[], None]) -> None:
    try:
        task()
    except Exception as error:  # noqa: BLE001 - reported: no caller reads the future
        report_unexpected(error)
