"""Runs services so that all end with the stage, however it ends."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from localstage.core.errors import ServiceError

_PROGRAM = Path(__file__).with_name("guardian_process.py")


class GuardedProcess:
    """A running service: ``pid``, its ``log`` file, and ``exit_code`` once it has ended."""

    def __init__(self, guardian: Guardian, name: str, log: Path) -> None:
        self.name = name
        self.log = log
        self.pid = 0
        self.exit_code: int | None = None
        self._guardian = guardian
        self._started: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._gone = asyncio.Event()

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
            self._guardian.send({"do": "signal", "name": self.name, "signal": int(number)})

    async def stop(self, *, patience: float = 5.0) -> None:
        """End it with SIGTERM, after ``patience`` seconds with SIGKILL. May be called again."""
        self.send_signal(signal.SIGTERM)
        try:
            await asyncio.wait_for(self._gone.wait(), patience)
        except TimeoutError:
            self.send_signal(signal.SIGKILL)
            await self._gone.wait()


class Guardian:
    """Owns the guardian process. Every process started through it ends within about two seconds after its owner.

    ``lock`` is a file that the guardian holds (flock) until its last process has ended, and waits for at the start.
    """

    def __init__(self, lock: Path | None = None) -> None:
        self._lock = lock
        self._process: asyncio.subprocess.Process | None = None
        self._reader: asyncio.Task[None] | None = None
        self._running: dict[str, GuardedProcess] = {}

    @property
    def pid(self) -> int | None:
        """The guardian's own process id while it runs."""
        return self._process.pid if self._process and self._process.returncode is None else None

    async def start(self) -> None:
        """Start the guardian in its own session, so that Ctrl-C in the terminal does not reach the services."""
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-I",
            "-S",
            str(_PROGRAM),
            str(os.getpid()),
            *([str(self._lock)] if self._lock else []),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
        self._reader = asyncio.create_task(self._read())

    async def spawn(
        self,
        name: str,
        command: Sequence[str | Path],
        *,
        folder: Path,
        log: Path,
        environment: Mapping[str, str],
        saves_at_end: bool = False,
    ) -> GuardedProcess:
        """Start a program and return once it runs; its output is appended to ``log``.

        ``saves_at_end``: if the stage is killed, the program gets SIGTERM and time to save its memory, instead of
        SIGKILL.

        Raises:
            ServiceError: the program cannot be started.
        """
        process = GuardedProcess(self, name, log)
        self._running[name] = process
        self.send(
            {
                "do": "start",
                "name": name,
                "command": [str(part) for part in command],
                "environment": dict(environment),
                "folder": str(folder),
                "log": str(log),
                "end_signal": int(signal.SIGTERM if saves_at_end else signal.SIGKILL),
            }
        )
        await process._started
        return process

    async def stop(self) -> None:
        """End all running services and the guardian. May be called again."""
        if self._process is None:
            return
        if self._process.stdin is not None:
            self._process.stdin.close()
        await self._process.wait()
        if self._reader is not None:
            await self._reader

    def send(self, command: Mapping[str, Any]) -> None:
        """Send one command.

        Raises:
            ServiceError: the guardian has ended.
        """
        if self.pid is None or self._process is None or self._process.stdin is None:
            raise ServiceError("The guardian process of the services has ended; start the stage again.")
        self._process.stdin.write(json.dumps(command).encode() + b"\n")

    async def _read(self) -> None:
        if self._process is None or self._process.stdout is None:
            return
        async for line in self._process.stdout:
            with contextlib.suppress(KeyError):
                self._note(json.loads(line))
        for process in self._running.values():
            self._end(process, None)

    def _note(self, event: dict[str, Any]) -> None:
        process = self._running[event["name"]]
        if event["event"] == "started":
            process.pid = event["pid"]
            if not process._started.done():
                process._started.set_result(None)
        elif event["event"] == "refused":
            self._end(process, None, f"{process.name} cannot be started: {event['reason']}.")
        else:
            self._end(process, event["code"])

    def _end(self, process: GuardedProcess, code: int | None, reason: str = "") -> None:
        if process.alive:
            process.exit_code = code
            process._gone.set()
        if not process._started.done():
            process._started.set_exception(ServiceError(reason or f"{process.name} ended at once; see {process.log}."))
