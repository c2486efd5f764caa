"""A few threads for many small pieces of work."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from typing import TypeVar

Piece = TypeVar("Piece")


def in_threads(work: Callable[[Piece], object], pieces: Iterable[Piece], threads: int) -> None:
    """Call ``work`` for every piece in order, at most ``threads`` at once. The first error stops all and is raised.

    An error and Ctrl-C wait for the pieces that are under way.
    """
    pool = ThreadPoolExecutor(threads)
    try:
        done, _ = wait([pool.submit(work, piece) for piece in pieces], return_when=FIRST_EXCEPTION)
    finally:
        pool.shutdown(cancel_futures=True)
    for each in done:
        each.result()
