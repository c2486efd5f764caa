"""Progress bars."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

STEPS = 4
"""The number of lines printed without a terminal."""


@contextmanager
def progress_bar(console: Console, title: str, total: int) -> Iterator[Callable[[int], None]]:
    """Yield a function to call with the number of items just done. Without a terminal, print a few plain lines."""
    if console.is_terminal:
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with Progress(*columns, console=console) as bar:
            task = bar.add_task(f"{title:<12}", total=total)
            yield lambda done: bar.advance(task, done)
        return
    yield _PlainProgress(console, title, total)


class _PlainProgress:
    def __init__(self, console: Console, title: str, total: int) -> None:
        self._console = console
        self._title = title
        self._total = total
        self._done = 0
        self._lock = threading.Lock()

    def __call__(self, done: int) -> None:
        with self._lock:
            before = self._done * STEPS // max(1, self._total)
            self._done += done
            if self._done * STEPS // max(1, self._total) > before:
                self._console.print(f"{self._title}: {self._done:,} of {self._total:,}")
