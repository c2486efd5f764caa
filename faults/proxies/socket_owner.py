"""Which process holds the other end of a loopback connection: so that a fault can hit the worker that asked."""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path


def kill_peer(port: int, words: str) -> bool:
    """Kill (-9) the process whose end of a connection is ``port`` on 127.0.0.1; True if one was killed.

    Only one whose command line holds ``words``, so that never anything else is hit.
    """
    holder = _holder(port, words)
    if holder is None:
        return False
    with contextlib.suppress(ProcessLookupError):
        os.kill(holder, signal.SIGKILL)
        return True
    return False


def is_held(port: int, words: str) -> bool:
    """Whether the process whose end of a connection is ``port`` on 127.0.0.1 has ``words`` in its command line."""
    return _holder(port, words) is not None


def _holder(port: int, words: str) -> int | None:
    socket = f"socket:[{_inode(port)}]"
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        with contextlib.suppress(OSError):
            if words.encode() in (folder / "cmdline").read_bytes() and _holds(folder, socket):
                return int(folder.name)
    return None


def kill_worker(stage: int, words: str) -> bool:
    """Kill (-9) one worker process of the stage with the id ``stage`` whose command line holds ``words``."""
    children = Path(f"/proc/{stage}/task/{stage}/children").read_text().split()
    for pid in children:
        with contextlib.suppress(OSError):
            if words.encode() in Path(f"/proc/{pid}/cmdline").read_bytes():
                os.kill(int(pid), signal.SIGKILL)
                return True
    return False


def _holds(process: Path, socket: str) -> bool:
    for descriptor in (process / "fd").iterdir():
        # Threads open and close others meanwhile.
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
