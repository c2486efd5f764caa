"""The process under which services run: started by ``guardian.Guardian``, never imported by the stage.

It reads commands and reports events as JSON lines. When the pipe ends, or its parent has ended,
it stops all processes below it and exits. Standard library only, so that it starts at once.

A service may fork and leave its parent (Erlang's helpers do); as a *child subreaper* this process inherits such
orphans instead of process 1, so all of them are its own children. If this process is killed,
the kernel sends each service the signal it asked for (PR_SET_PDEATHSIG).
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import json
import os
import selectors
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import IO, Any

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
OWNER_POLL = 0.25
GRACE = 1.5
"""Seconds a service gets to save its state when the stage was killed."""


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


class GuardianProcess:
    """Starts, signals and reaps services until the owner has ended."""

    def __init__(self, owner: int) -> None:
        self._owner = owner
        self._running: dict[int, tuple[str, int]] = {}
        self._ended = False

    def run(self) -> None:
        """Serve commands until the owner ends, then end every process below this one."""
        wake_reader, wake_writer = os.pipe()
        os.set_blocking(wake_reader, False)
        os.set_blocking(wake_writer, False)
        signal.set_wakeup_fd(wake_writer)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGTERM, self._end)
        for ignored in (signal.SIGINT, signal.SIGHUP, signal.SIGPIPE):
            signal.signal(ignored, signal.SIG_IGN)
        selector = selectors.DefaultSelector()
        selector.register(0, selectors.EVENT_READ)
        selector.register(wake_reader, selectors.EVENT_READ)
        pending = b""
        while not self._ended and os.getppid() == self._owner:
            for key, _ in selector.select(OWNER_POLL):
                data = os.read(key.fd, 65536)
                if key.fd == 0:
                    self._ended = not data
                    *lines, pending = (pending + data).split(b"\n")
                    for line in lines:
                        self._command(json.loads(line))
            self._reap()
        self._end_all_processes()

    def _end(self, *_: object) -> None:
        self._ended = True

    def _report(self, **event: Any) -> None:
        with contextlib.suppress(OSError):
            os.write(1, json.dumps(event).encode() + b"\n")

    def _command(self, command: dict[str, Any]) -> None:
        name = command["name"]
        if command["do"] == "signal":
            pid = next((pid for pid, (running, _) in self._running.items() if running == name), None)
            if pid is not None:
                _signal_group(pid, command["signal"])
            return
        try:
            pid = self._start(command)
        except OSError as error:
            self._report(event="refused", name=name, reason=str(error))
            return
        self._running[pid] = (name, command["end_signal"])
        self._report(event="started", name=name, pid=pid)

    def _start(self, command: dict[str, Any]) -> int:
        def before_exec() -> None:
            _prctl(PR_SET_PDEATHSIG, command["end_signal"])
            for restored in (signal.SIGINT, signal.SIGHUP):
                signal.signal(restored, signal.SIG_DFL)

        with Path(command["log"]).open("ab") as log:
            process = subprocess.Popen(  # preexec_fn is safe here: there is one thread
                command["command"],
                env=command["environment"],
                cwd=command["folder"],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                process_group=0,
                preexec_fn=before_exec,
            )
        process.returncode = 0  # reaped here by wait(-1): Popen must not wait for it too
        return process.pid

    def _reap(self) -> None:
        with contextlib.suppress(ChildProcessError):
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    return
                if pid in self._running:
                    name, _ = self._running.pop(pid)
                    _signal_group(pid, signal.SIGKILL)
                    self._report(event="exited", name=name, code=os.waitstatus_to_exitcode(status))

    def _end_all_processes(self) -> None:
        for pid, (_, end_signal) in list(self._running.items()):
            _signal_group(pid, end_signal)
        deadline = time.monotonic() + GRACE
        while any(end_signal != signal.SIGKILL for _, end_signal in self._running.values()):
            if time.monotonic() > deadline:
                break
            time.sleep(0.02)
            self._reap()
        while children := _children():
            for pid in children:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.01)
            self._reap()


def _signal_group(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)


def _children() -> list[int]:
    """Return the child processes, including inherited orphans."""
    path = Path(f"/proc/self/task/{os.getpid()}/children")
    return [int(pid) for pid in path.read_text().split()] if path.exists() else []


def _hold(path: str, owner: int) -> IO[str]:
    """Lock ``path`` until this process ends. The guardian of a killed stage may hold it for two more seconds, while
    its services still write to the folder that this one's will use."""
    lock = Path(path).open("a+", encoding="utf-8")  # noqa: SIM115 - held for as long as this process lives
    while os.getppid() == owner:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(0.05)
        else:
            break
    return lock


if __name__ == "__main__":
    os.umask(0o077)  # what services write is their user's alone, also without a stage around them
    _prctl(PR_SET_CHILD_SUBREAPER, 1)
    held = [_hold(path, int(sys.argv[1])) for path in sys.argv[2:]]
    GuardianProcess(int(sys.argv[1])).run()
