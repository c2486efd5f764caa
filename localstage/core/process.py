"""An operating system process of a function or a service: starts it, watches it, signals it, reaps it.

:func:`holder_of` names the process that holds a port.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path


class WorkerProcess:
    """A process in its own session, with its children as one process group.

    ``output`` is the descriptor of its log, ``held`` are others that it inherits. ``exited`` is called once, when the
    process has ended and before it is reaped.

    Raises:
        OSError: no process could be started.
    """

    def __init__(
        self,
        command: Sequence[str],
        variables: Mapping[str, str],
        *,
        cwd: Path,
        output: int,
        held: Sequence[int] = (),
        exited: Callable[[], None],
    ) -> None:
        # Blocks for about a millisecond. asyncio may fork from another thread, and the process would end
        # with that thread (PR_SET_PDEATHSIG).
        self._process = subprocess.Popen(
            command,
            env=variables,
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            pass_fds=held,
            start_new_session=True,
        )
        self.pid = self._process.pid
        self._exited = exited
        self._reaped = False
        self._loop = asyncio.get_running_loop()
        try:
            self._pidfd = os.pidfd_open(self.pid)
        except OSError:
            self.signal(signal.SIGKILL)
            self._process.wait()
            raise
        self._loop.add_reader(self._pidfd, self._ended)

    def signal(self, number: signal.Signals) -> None:
        """Send ``number`` to the process and its children, if they still run."""
        if not self._reaped:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, number)

    def reap(self) -> int:
        """End the children that the process left, free its id, and return its status as ``Popen.returncode`` does.

        Only after ``exited`` was called. Children come first: the id cannot be reused until the process is reaped.
        """
        self.signal(signal.SIGKILL)
        self._reaped = True
        return self._process.wait()

    def _ended(self) -> None:
        self._loop.remove_reader(self._pidfd)
        os.close(self._pidfd)
        self._exited()


def holder_of(port: int) -> str:
    """The process that listens on a TCP port, for a person: "another Headrace stage (PID 4711)", for example."""
    import psutil  # not at the top: a stage whose ports are free does not need it

    try:
        listening = (each for each in psutil.net_connections("tcp") if each.status == psutil.CONN_LISTEN)
        process = psutil.Process(next(each.pid for each in listening if each.laddr.port == port and each.pid))
        is_stage = "localstage" in process.cmdline()
        return f"{'another Headrace stage' if is_stage else process.name()} (PID {process.pid})"
    except (StopIteration, psutil.Error):  # of another user
        return "another program"
