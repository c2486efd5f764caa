"""All functions of a stage: implements :class:`localstage.core.invoker.Functions`."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from localstage.core.errors import RecursiveInvocation, StageError
from localstage.core.invoker import Invocation
from localstage.core.lineage import MOST, invocations
from localstage.core.model import Function
from localstage.core.reporter import Reporter
from localstage.functions import watch
from localstage.functions.environment import State
from localstage.functions.group import Group
from localstage.functions.logs import FunctionLog
from localstage.functions.settings import PoolSettings

_log = logging.getLogger("localstage.functions")

_HOUSEKEEPING = 1.0


@dataclass(frozen=True)
class FunctionStatus:
    """Counts of one function, over its shared and its dedicated environments."""

    environments: int
    busy: int
    frozen: int
    waiting: int
    invocations: int
    errors: int
    cold_starts: int


class FunctionPool:
    """Runs events in worker processes, as Lambda would.

    Use it in the main thread's event loop only: the kernel ends the processes when the thread that made them ends.
    """

    def __init__(self, functions: Mapping[str, Function], settings: PoolSettings) -> None:
        self._functions = dict(functions)
        self._settings = settings
        self._groups: dict[tuple[str, str | None], Group] = {}
        self._logs: dict[str, FunctionLog] = {}
        self._failures = Reporter(_log)
        self._house: asyncio.Task[None] | None = None
        self._watcher: asyncio.Task[None] | None = None
        self._running = False

    async def start(self) -> None:
        """Prepare for events. A process starts with its first event.

        Raises:
            StageError: the state directory cannot be written.
        """
        try:
            (self._settings.state_dir / "logs").mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StageError(f"{self._settings.state_dir} cannot be written: {error.strerror}") from error
        self._running = True
        self._house = asyncio.create_task(self._housekeeping())
        users = watch.sources(self._functions, self._settings.layer_paths)
        self._watcher = asyncio.create_task(self._follow_edits(users))
        # The watch is in place once the task has run up to its first wait.
        await asyncio.sleep(0)

    async def stop(self) -> None:
        """End every process; events that wait or run get a StageError. Returns when all processes are reaped."""
        self._running = False
        groups = list(self._groups.values())
        for group in groups:
            group.close(StageError("the stage is stopping"))
        await _cancelled(self._house)
        await _cancelled(self._watcher)
        for group in groups:
            await group.quiet.wait()
        for log in self._logs.values():
            log.close()
        self._groups.clear()
        self._logs.clear()

    def invoke(
        self, function_id: str, event: bytes, *, dedicated_to: str | None = None, trace: str = ""
    ) -> asyncio.Future[Invocation]:
        """Run one event: JSON of at most 6 MB, which APIs and mappings see to. A failure is a result, not an exception.

        Waits for an environment as long as the caller does. A call that is cancelled while it waits never runs.

        Raises:
            RecursiveInvocation: the chain of requests of the header ``trace`` invoked it too often.
            StageError: the stage is stopping. The future raises it too: then no process could be started.
        """
        if not self._running:
            raise StageError("the stage is stopping")
        if invocations(trace, function_id) >= MOST and not self._functions[function_id].may_recurse:
            raise RecursiveInvocation(f"{function_id}: a chain of requests invoked it {MOST} times")
        group = self._groups.get((function_id, dedicated_to)) or self._new_group(function_id, dedicated_to)
        return group.invoke(event, trace)

    def log_tail(self, function_id: str) -> str:
        """The end of the function's log, or nothing if it has not run."""
        log = self._logs.get(function_id)
        return log.tail() if log else ""

    def status(self) -> dict[str, FunctionStatus]:
        """Counts for every function of the template."""
        return {id: self._status([g for (of, _), g in self._groups.items() if of == id]) for id in self._functions}

    @staticmethod
    def _status(groups: list[Group]) -> FunctionStatus:
        return FunctionStatus(
            environments=sum(len(group.environments) for group in groups),
            busy=sum(group.count(State.BUSY, State.RETURNING) for group in groups),
            frozen=sum(group.frozen for group in groups),
            waiting=sum(len(group.waiting) for group in groups),
            invocations=sum(group.invocations for group in groups),
            errors=sum(group.errors for group in groups),
            cold_starts=sum(group.cold_starts for group in groups),
        )

    def _new_group(self, function_id: str, dedicated_to: str | None) -> Group:
        function = self._functions[function_id]
        try:
            log = self._logs.get(function_id) or FunctionLog(self._settings.state_dir / "logs" / f"{function_id}.log")
        except OSError as error:
            raise StageError(f"the log of {function_id} cannot be written: {error.strerror}") from error
        self._logs[function_id] = log
        group = Group(function, self._settings, log, self._failures, limit=self._limit(function, dedicated_to))
        self._groups[function_id, dedicated_to] = group
        return group

    def _limit(self, function: Function, dedicated_to: str | None) -> int:
        if dedicated_to is not None:
            return 1
        reserved = function.reserved_concurrency
        return self._settings.max_environments if reserved is None else min(reserved, self._settings.max_environments)

    async def _housekeeping(self) -> None:
        while True:
            await asyncio.sleep(_HOUSEKEEPING)
            for group in self._groups.values():
                group.end_unusable()
            for log in self._logs.values():
                log.rotate()

    async def _follow_edits(self, users: Mapping[Path, set[str]]) -> None:
        async for changed in watch.edits(users):
            ids = watch.touched(changed, users)
            groups = [group for (function_id, _), group in self._groups.items() if function_id in ids]
            # In this order: a process that still starts could write the old bytecode again.
            for group in groups:
                group.end_outdated()
            watch.forget_bytecode(changed, self._settings.state_dir)
            for group in groups:
                group.grow()
            if ids:
                who = ", ".join(sorted(ids)) if len(ids) < 4 else f"{len(ids)} functions"
                what = ", ".join(sorted(path.name for path in changed)) if len(changed) < 4 else f"{len(changed)} files"
                _log.info("%s reloaded (%s)", who, what)


async def _cancelled(task: asyncio.Task[None] | None) -> None:
    if task is not None:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
