"""Execution environments of one function, shared or dedicated to one mapping, and the events that wait for them."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque

from localstage.core.errors import StageError
from localstage.core.invoker import Invocation, is_refusal
from localstage.core.lineage import lineage
from localstage.core.model import Function
from localstage.core.reporter import Reporter
from localstage.functions import payloads
from localstage.functions.environment import Environment, State
from localstage.functions.event import Event
from localstage.functions.logs import FunctionLog
from localstage.functions.settings import PoolSettings

_log = logging.getLogger("localstage.functions")

# After its response an environment asks for the next event within microseconds; one that does not is stuck.
_RETURN_LIMIT = 2.0


class Group:
    """Gives each event to an environment: the one used last, a new one, or the first to become free.

    ``limit`` bounds the environments. Counters are kept for ``status``.
    """

    def __init__(
        self, function: Function, settings: PoolSettings, log: FunctionLog, failures: Reporter, *, limit: int
    ) -> None:
        self.function = function
        self.limit = max(limit, 1)
        self.environments: set[Environment] = set()
        self.waiting: deque[Event] = deque()
        self.invocations = 0
        self.errors = 0
        self.cold_starts = 0
        self.quiet = asyncio.Event()  # no process of this group is alive or dying
        self.quiet.set()
        self._settings = settings
        self._log = log
        self._failures = failures
        self._alive: set[Environment] = set()
        self._idle: list[Environment] = []  # used last at the end
        self._loop = asyncio.get_running_loop()
        self._starts: set[asyncio.Task[None]] = set()

    def invoke(self, body: bytes, trace: str) -> asyncio.Future[Invocation]:
        """Run one event. Cancelling removes a waiting event; one that an environment has taken runs to its end."""
        event = Event(body, self._loop.create_future(), lineage(trace, self.function.id))
        self.invocations += 1
        if self._idle:
            self._idle.pop().run(event)
        else:
            self.waiting.append(event)
            event.future.add_done_callback(lambda _: self._forget(event))
            self.grow()
        return event.future

    def _forget(self, event: Event) -> None:
        if event.future.cancelled() and event in self.waiting:
            self.waiting.remove(event)

    def end_outdated(self) -> None:
        """End the environments made so far: busy ones after their event, the others now. ``grow`` must follow."""
        for environment in list(self.environments):
            if environment.state is State.BUSY:
                environment.stale = True
            else:
                self._end(environment)

    def close(self, error: Exception) -> None:
        """End all environments at once. Their events get ``error``."""
        while self.waiting:
            self.waiting.popleft().refuse(error)
        for environment in list(self._alive):
            if environment.event is not None:
                environment.event.refuse(error)
            self._end(environment)

    def end_unusable(self) -> None:
        """End environments that are idle for too long, stuck, or over their memory. Called about once a second."""
        now = time.monotonic()
        for environment in list(self.environments):
            rested = now - environment.since
            if (environment.state is State.IDLE and rested > self._settings.idle_timeout) or (
                environment.state is State.RETURNING and rested > _RETURN_LIMIT
            ):
                self._end(environment)
            elif environment.state is State.BUSY and environment.uses_too_much_memory():
                environment.interrupt()
        self.grow()

    def count(self, *states: State) -> int:
        """How many environments are in one of ``states``."""
        return sum(environment.state in states for environment in self.environments)

    @property
    def frozen(self) -> int:
        """How many environments are frozen."""
        return sum(environment.frozen for environment in self.environments)

    def grow(self) -> None:
        """Start environments for the events that no other environment is about to take."""
        coming = sum(each.state in (State.STARTING, State.RETURNING) for each in self.environments)
        while coming < len(self.waiting) and len(self.environments) < self.limit:
            self._spawn(init_limit=self._settings.init_timeout)
            coming += 1

    def ready(self, environment: Environment) -> None:
        if self.waiting:
            environment.run(self.waiting.popleft())
        else:
            self._idle.append(environment)
            environment.rest()

    def answered(self, environment: Environment, event: Event, payload: bytes, error: str | None) -> None:
        self.cold_starts += event.cold
        event.resolve(payload, error)
        if error is not None and not is_refusal(payload):
            self._failed(payloads.error_type(payload))
        if environment.stale or environment.state is State.DEAD:
            self._end(environment)
            self.grow()

    def init_failed(self, environment: Environment, payload: bytes) -> None:
        self.environments.discard(environment)
        self._failed(payloads.init_error(payload))
        if self.waiting:
            self.waiting.popleft().resolve(payload, "Unhandled")
        self.grow()

    def init_timed_out(self, environment: Environment) -> None:
        self.environments.discard(environment)
        if self.waiting and environment.second_start:
            event = self.waiting.popleft()
            event.resolve(payloads.timed_out(event.request_id, self.function.timeout), "TimedOut")
            self._failed("Sandbox.Timedout")
        elif self.waiting:
            # As in Lambda, a second start counts against the function's timeout.
            self._spawn(init_limit=self.function.timeout, second_start=True)
        self.grow()

    def died(self, environment: Environment) -> None:
        self._end(environment)
        self._failed("Runtime.ExitError")
        self.grow()

    def gone(self, environment: Environment) -> None:
        self.environments.discard(environment)
        self._alive.discard(environment)
        if not self._alive:
            self.quiet.set()

    def _spawn(self, *, init_limit: float, second_start: bool = False) -> None:
        environment = Environment(
            self.function, self._settings, self._log, self, init_limit=init_limit, second_start=second_start
        )
        self.environments.add(environment)
        self._alive.add(environment)
        self.quiet.clear()
        task = self._loop.create_task(self._start(environment))
        self._starts.add(task)
        task.add_done_callback(self._starts.discard)

    async def _start(self, environment: Environment) -> None:
        try:
            await environment.start()
        except OSError as error:
            self.gone(environment)
            problem = StageError(f"{self.function.id} could not be started: {error}")
            _log.error("%s", problem)
            if self.waiting:
                self.waiting.popleft().refuse(problem)
            self.grow()

    def _end(self, environment: Environment) -> None:
        environment.kill()
        self.environments.discard(environment)
        if environment in self._idle:
            self._idle.remove(environment)

    def _failed(self, kind: str) -> None:
        self.errors += 1
        name = self.function.id
        self._failures.warn(f"{name} {kind}", f"{name} failed: {kind} (make logs FUNCTION={name})")
