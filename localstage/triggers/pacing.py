"""Back-off after failures, and what all triggers share."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Set
from dataclasses import dataclass, replace
from typing import Any

from localstage.core.reporter import Reporter

_logger = logging.getLogger("localstage.triggers")


class Backoff:
    """Delays that double from ``first`` to ``most`` seconds until ``reset``."""

    def __init__(self, first: float, most: float) -> None:
        self._first = first
        self._most = most
        self._next = first

    def next(self) -> float:
        """Return the delay to wait now, in seconds."""
        delay = self._next
        self._next = min(delay * 2, self._most)
        return delay

    def reset(self) -> None:
        """Start again from the first delay."""
        self._next = self._first


@dataclass
class Status:
    """One trigger's counters and ``state``: ``stopped``, ``starting``, ``running`` or ``waiting`` (see ``trouble``).

    ``records`` were handled by the function, in ``batches``; ``failures`` counts invocations that failed. ``held`` are
    the messages that a mapping of RabbitMQ has received and not acknowledged.
    """

    id: str
    kind: str
    source: str
    function_id: str
    state: str = "stopped"
    trouble: str | None = None
    held: int | None = None
    records: int = 0
    batches: int = 0
    failures: int = 0


class Trigger:
    """What all triggers share: their status, and the lines of the log when their source is away and there again."""

    def __init__(self, status: Status) -> None:
        self._status = status
        self._reporter = Reporter(_logger)
        self._stopping = asyncio.Event()

    def status(self) -> Status:
        """Return a snapshot."""
        return replace(self._status)

    def _running(self) -> None:
        if self._status.state != "running":
            again = " again" if self._status.trouble else ""
            _logger.info("%s reads %s%s", self._status.id, self._status.source, again)
        self._status.state, self._status.trouble = "running", None

    def _trouble(self, reason: str) -> None:
        self._status.state, self._status.trouble = "waiting", reason
        self._reporter.warn("source", f"{self._status.id}: {reason}; trying again")


async def pause(stopping: asyncio.Event, seconds: float) -> None:
    """Sleep, but no longer than until ``stopping`` is set."""
    try:
        async with asyncio.timeout(seconds):
            await stopping.wait()
    except TimeoutError:
        return


async def wind_up(tasks: Set[asyncio.Future[Any]], grace: float) -> None:
    """Wait up to ``grace`` seconds for running tasks, then cancel the rest."""
    if not tasks:
        return
    _, late = await asyncio.wait(tasks, timeout=grace)
    for task in late:
        task.cancel()
    await asyncio.gather(*late, return_exceptions=True)
