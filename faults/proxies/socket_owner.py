"""Finds the process at the other end of a loopback connection, so that a fault can kill the worker that called."""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path


def kill_peer(port: int, words: str) -> bool:
    """Kill (-9) the process whose end of a connection is ``port`` on 127.0.0.1; True if one was killed.

    Only a process whose command line contains ``words`` is killed.
    """
    owner = _owner(port, words)
    if owner is None:
        return False
    with contextlib.suppress(ProcessLookupError):
        os.kill(owner, signal.SIGKILL)
        return True
    return False


def owned_by(port: int, words: str) -> bool:
    """Whether ``port`` on 127.0.0.1 belongs to a process with ``words`` in its command line."""
    return _owner(port, words) is not None


def _owner(port: int, words: str) -> int | None:
    socket = f"socket:[{_inode(port)}]"
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        with contextlib.suppress(OSError):
            if words.encode() in (folder / "cmdline").read_bytes() and _has_socket(folder, socket):
                return int(folder.name)
    return None


def kill_worker(stage: int, words: str) -> bool:
    """Kill (-9) one worker process of the stage with the id ``stage`` whose command line contains ``words``."""
    children = Path(f"/proc/{stage}/task/{stage}/children").read_text().split()
    for pid in children:
        with contextlib.suppress(OSError):
            if words.encode() in Path(f"/proc/{pid}/cmdline").read_bytes():
                os.kill(int(pid), signal.SIGKILL)
                return True
    return False


def _has_socket(process: Path, socket: str) -> bool:
    for descriptor in (process / "fd").iterdir():
        # Other threads open and close sockets meanwhile.
        with contextlib.suppress(FileNotFoundError):
            if str(descriptor.readlink()) == socket:
                return True
    return False


def _inode(port: int) -> str:
    wanted = f"0100007F:{port:04X}"
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        if fields[1] == wanted:
            return fields[9]
    return "gone"
