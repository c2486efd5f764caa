"""Finds workers by their command line and by a connection, so that a fault can kill the one that called."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable

import psutil


def kill_peer(port: int, words: str) -> bool:
    """Kill (-9) the process whose end of a connection is ``port`` on 127.0.0.1; True if one was killed.

    Only a process whose command line contains ``words`` is killed.
    """
    return _kill_first(_owners(port), words)


def owned_by(port: int, words: str) -> bool:
    """Whether ``port`` on 127.0.0.1 belongs to a process with ``words`` in its command line."""
    return any(_is(process, words) for process in _owners(port))


def kill_worker(stage: int, words: str) -> bool:
    """Kill (-9) one worker process of the stage with the id ``stage`` whose command line contains ``words``."""
    return _kill_first(psutil.Process(stage).children(), words)


def _owners(port: int) -> Iterable[psutil.Process]:
    for each in psutil.net_connections("tcp4"):
        if each.laddr == ("127.0.0.1", port) and each.pid is not None:
            with contextlib.suppress(psutil.NoSuchProcess):
                yield psutil.Process(each.pid)


def _kill_first(processes: Iterable[psutil.Process], words: str) -> bool:
    for process in processes:
        if _is(process, words):
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
                return True
    return False


def _is(process: psutil.Process, words: str) -> bool:
    with contextlib.suppress(psutil.Error):
        return words in " ".join(process.cmdline())
    return False
