"""Runs services so that all end with the stage, however it ends."""

from __future__ import annotations

import asyncio
import shutil
import signal
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

from localstage.core.errors import AlreadyRunning, ServiceError
from localstage.core.locks import try_lock
from localstage.core.process import WorkerProcess

LOCK = "guardian.lock"
EARLIER_SECONDS = 10.0
"""How long the services of a killed stage may take to save their state."""


class GuardedProcess(WorkerProcess):
    """A running service: ``pid``, its ``log`` file, and ``exit_code`` once it has ended."""

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        log: Path,
        environment: Mapping[str, str],
        lock: int | None,
    ) -> None:
        """Start the program; its children inherit the descriptor ``lock``."""
        self.name = name
        self.log = log
        self.exit_code: int | None = None
        self._gone = asyncio.Event()
        held = [] if lock is None else [lock]
        with log.open("ab") as file:
            super().__init__(
                command, environment, cwd=log.parent, output=file.fileno(), held=held, exited=self._reap_it
            )

    @property
    def alive(self) -> bool:
        return not self._gone.is_set()

    async def wait(self) -> int:
        """Return the exit code when the process has ended (negative: the signal that ended it)."""
        await self._gone.wait()
        return self.exit_code if self.exit_code is not None else -signal.SIGKILL

    def send_signal(self, number: int) -> None:
        """Send a signal to the service's process group; a process that has ended is ignored."""
        if self.alive:
            self.signal(signal.Signals(number))

    async def stop(self, *, patience: float = 5.0) -> None:
        """End it with SIGTERM, after ``patience`` seconds with SIGKILL. May be called again."""
        self.send_signal(signal.SIGTERM)
        try:
            await asyncio.wait_for(self._gone.wait(), patience)
        except TimeoutError:
            self.send_signal(signal.SIGKILL)
            await self._gone.wait()

    def _reap_it(self) -> None:
        self.exit_code = self.reap()
        self._gone.set()


class Guardian:
    """Starts services. If this process is killed, the kernel ends them (``setpriv --pdeathsig``).

    ``lock`` is a file that the services hold (flock) until the last of them has ended. A new guardian waits for it.
    Use it in a thread that lives as long as the services: the kernel ends them with the thread that started them.
    """

    def __init__(self, lock: Path | None = None) -> None:
        self._lock = lock
        self._held: IO[str] | None = None
        self._running: list[GuardedProcess] = []

    async def start(self) -> None:
        """Wait until the services of an earlier stage have ended.

        Raises:
            AlreadyRunning: they do not end.
        """
        if self._lock is not None:
            self._held = await asyncio.to_thread(hold, self._lock)

    async def spawn(
        self,
        name: str,
        command: Sequence[str | Path],
        *,
        log: Path,
        environment: Mapping[str, str],
        saves_at_end: bool = False,
    ) -> GuardedProcess:
        """Start a program in its own session, so that Ctrl-C does not reach it.

        It runs in the folder of ``log``, to which its output is appended. ``saves_at_end``: if the stage is killed, the
        program gets SIGTERM, and saves its memory, instead of SIGKILL.

        Raises:
            ServiceError: the program cannot be started.
        """
        setpriv = shutil.which("setpriv")  # of util-linux
        ending = [setpriv, "--pdeathsig", "TERM" if saves_at_end else "KILL"] if setpriv else []
        lock = None if self._held is None else self._held.fileno()
        try:
            process = GuardedProcess(name, [*ending, *map(str, command)], log, environment, lock)
        except OSError as error:
            raise ServiceError(f"{name} cannot be started: {error}.") from None
        self._running.append(process)
        return process

    async def stop(self) -> None:
        """End all running services. May be called again."""
        await asyncio.gather(*(process.stop(patience=1.5) for process in self._running if process.alive))
        if self._held is not None:
            self._held.close()
            self._held = None


def hold(lock: Path) -> IO[str]:
    """Lock a file when the services of an earlier stage have ended: until then they write to their folder.

    Raises:
        AlreadyRunning: they have not ended after ``EARLIER_SECONDS``.
    """
    deadline = time.monotonic() + EARLIER_SECONDS
    while (file := try_lock(lock)) is None:
        if time.monotonic() > deadline:
            raise AlreadyRunning(f"services of an earlier stage still hold {lock}; end them first")
        time.sleep(0.05)
    return file
