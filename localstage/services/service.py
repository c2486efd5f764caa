"""Base class of the services that the stage starts, with its health checks."""

from __future__ import annotations

import asyncio
import logging
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import aiohttp

from localstage.core.errors import ServiceError
from localstage.services.guardian import GuardedProcess, Guardian
from localstage.services.ports import Ports

log = logging.getLogger("localstage.services")

HOST = "127.0.0.1"
_POLL = 0.05


@dataclass(eq=False)
class Service(ABC):
    """A program that the stage starts on its own port, with its data in ``folder``."""

    name: ClassVar[str]
    patience: ClassVar[float] = 5.0
    """Seconds that it gets to stop after SIGTERM."""

    guardian: Guardian
    ports: Ports
    folder: Path
    environ: Mapping[str, str] = field(kw_only=True)
    """The user's variables."""
    port: int = field(default=0, init=False)
    process: GuardedProcess | None = field(default=None, init=False)

    @property
    def address(self) -> str:
        return f"{HOST}:{self.port}"

    @property
    def url(self) -> str:
        """The URL that status shows and clients use."""
        return f"http://{self.address}"

    async def start(self) -> None:
        """Start it and return when it answers.

        Raises:
            ServiceError: it ended, or did not answer in time; names its log file.
        """
        began = time.perf_counter()
        self.folder.mkdir(parents=True, exist_ok=True)
        version = await self.launch()
        log.info(
            "%s ready on %s in %.1f s", f"{self.name} {version}".strip(), self.address, time.perf_counter() - began
        )

    async def start_again(self) -> None:
        """Start it again, on the same ports and data, after it was killed or stopped.

        Raises:
            ServiceError: as for :meth:`start`.
        """
        await self.stop()
        self.ports = self.ports.again()
        await self.start()

    @abstractmethod
    async def launch(self) -> str:
        """Start it, wait until it answers, return its version (or nothing)."""

    @abstractmethod
    async def answers(self) -> bool:
        """Return whether it answers now."""

    async def healthy(self) -> bool:
        """Return whether its process runs and it answers within two seconds."""
        return self.process is not None and self.process.alive and await _quietly(self.answers)

    async def stop(self) -> None:
        """Stop it if it runs."""
        if self.process is not None:
            await self.process.stop(patience=self.patience)

    async def until_it_answers(self, seconds: float) -> None:
        """Wait until the started process answers.

        Raises:
            ServiceError: it ended or took longer than ``seconds``.
        """
        process = self.process
        if process is None:
            raise ServiceError(f"{self.name} was not started.")
        deadline = time.monotonic() + seconds
        while not await _quietly(self.answers):
            if not process.alive:
                raise ServiceError(f"{self.name} ended while starting; see {process.log}.")
            if time.monotonic() > deadline:
                raise ServiceError(f"{self.name} did not answer within {seconds:.0f} s; see {process.log}.")
            await asyncio.sleep(_POLL)


async def _quietly(question: Callable[[], Coroutine[Any, Any, bool]]) -> bool:
    try:
        return await asyncio.wait_for(question(), 2)
    except (OSError, EOFError, aiohttp.ClientError, TimeoutError):
        return False


async def http_answers(url: str, session_token: str = "") -> bool:
    """Return whether an emulator answers a GET of ``url`` with success."""
    async with (
        aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=2)) as session,
        session.get(url, headers={"X-Amz-Security-Token": session_token}) as answer,
    ):
        return answer.ok


def plain_environment(environ: Mapping[str, str], **extra: str) -> dict[str, str]:
    """Return the user's variables that a service needs, without settings meant for other programs."""
    kept = {name: environ[name] for name in ("PATH", "HOME", "TMPDIR", "TZ") if name in environ}
    return {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", **kept, **extra}
