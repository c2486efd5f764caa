"""A file that one process holds at a time. The kernel releases it with the process, so nothing is cleaned up."""

from __future__ import annotations

import fcntl
from pathlib import Path
from typing import IO


def try_lock(file: Path) -> IO[str] | None:
    """Lock a file until it is closed, also by processes that inherit it; ``None`` if another one holds it."""
    lock = file.open("a+", encoding="utf-8")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.close()
        return None
    return lock
