"""A few threads for many small pieces of work."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable
from typing import TypeVar

Piece = TypeVar("Piece")


def in_threads(work: Callable[[Piece], object], pieces: Iterable[Piece], threads: int) -> None:
    """Call ``work`` for every piece in order, at most ``threads`` at once. The first error stops all and is raised.

    The threads are daemons, so Ctrl-C ends the program without waiting for them.
    """
    waiting: queue.SimpleQueue[Piece] = queue.SimpleQueue()
    for piece in pieces:
        waiting.put(piece)
    errors: list[Exception] = []

    def run() -> None:
        while not errors:
            try:
                work(waiting.get_nowait())
            except queue.Empty:
                return
            except Exception as error:  # noqa: BLE001 - raised again below
                errors.append(error)

    running = [threading.Thread(target=run, daemon=True) for _ in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    if errors:
        raise errors[0]
