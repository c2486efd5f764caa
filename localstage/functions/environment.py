"""One execution environment: a worker process that handles one event at a time and is frozen in between."""

from __future__ import annotations

import asyncio
import enum
import signal
import time
import uuid
from typing import Protocol

from localstage.core.model import ACCOUNT, Function
from localstage.core.process import WorkerProcess
from localstage.functions import payloads, runtime_api
from localstage.functions.event import Event
from localstage.functions.logs import FunctionLog, PeakMemory
from localstage.functions.settings import PoolSettings, command, variables

# After a process has ended, its last bytes may still be in the socket; a child of it may hold the socket open.
_OUTPUT_SECONDS = 1.0

# Freezing and resuming a process costs two switches to it, too much for the few milliseconds between two events of a
# busy function.
_FREEZE_AFTER = 0.05


class State(enum.Enum):
    """STARTING → IDLE ⇄ BUSY → RETURNING → IDLE …, and DEAD from anywhere.

    RETURNING is the time between a response and the request for the next event.
    """

    STARTING = enum.auto()
    IDLE = enum.auto()
    BUSY = enum.auto()
    RETURNING = enum.auto()
    DEAD = enum.auto()


class Owner(Protocol):
    """Decides what an environment does next. Each method is called at most once per occurrence."""

    def ready(self, environment: Environment) -> None:
        """It asks for an event, for the first time or again."""

    def answered(self, environment: Environment, event: Event, payload: bytes, error: str | None) -> None:
        """Its event is done; if it is DEAD now, it will take no more."""

    def init_failed(self, environment: Environment, payload: bytes) -> None:
        """It could not import the function, or ended before it asked for an event."""

    def init_timed_out(self, environment: Environment) -> None:
        """It did not ask for an event within its limit, and was killed."""

    def died(self, environment: Environment) -> None:
        """It ended while it had no event."""

    def gone(self, environment: Environment) -> None:
        """Its process has ended and is reaped."""


class Environment:
    """A process from its start to its end. Made and used in the event loop's thread only.

    That thread must outlive the process: the kernel ties PR_SET_PDEATHSIG to the thread that forked.
    """

    def __init__(
        self,
        function: Function,
        settings: PoolSettings,
        log: FunctionLog,
        owner: Owner,
        *,
        init_limit: float,
        second_start: bool = False,
    ) -> None:
        self.function = function
        self.state = State.STARTING
        self.frozen = False
        self.stale = False
        self.second_start = second_start  # after one that took too long: counts against the first event's deadline
        self.event: Event | None = None
        self.since = time.monotonic()  # the last change of state
        self._settings = settings
        self._log = log
        self._owner = owner
        self._arn = f"arn:aws:lambda:{settings.region}:{ACCOUNT}:function:{function.name}"
        self._loop = asyncio.get_running_loop()
        self._init_limit = init_limit
        self._init_seconds = 0.0
        self._first = True
        self._memory = PeakMemory()
        self._waiting: runtime_api.Connection | None = None
        self._connections: set[runtime_api.Connection] = set()
        self._server: asyncio.Server | None = None
        self._process: WorkerProcess | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._ending: asyncio.TimerHandle | None = None

    async def start(self) -> None:
        """Start the process; the owner is notified when it is ready.

        Raises:
            OSError: no process, port or memory is left.
        """
        self._server, address = await runtime_api.serve(self)
        if self.state is State.DEAD:
            self._server.close()
            self._owner.gone(self)
            return
        try:
            self._spawn(address)
        except BaseException:
            self.state = State.DEAD
            self._server.close()
            raise

    def _spawn(self, runtime_api_address: str) -> None:
        self._process = WorkerProcess(
            command(self.function, self._settings),
            variables(self.function, self._settings, runtime_api_address),
            cwd=self.function.code,
            output=self._log.fd,
            exited=self._exited,
        )
        self.since = time.monotonic()
        self._timer = self._loop.call_later(self._init_limit, self._init_timed_out)
        self._log.write(f"INIT_START Runtime Version: python pid {self._process.pid}\n")

    @property
    def pid(self) -> int:
        """The process's id; 0 when there is none."""
        return self._process.pid if self._process is not None else 0

    def run(self, event: Event) -> None:
        """Hand over ``event``; only when IDLE."""
        now = time.monotonic()
        limit = self.function.timeout
        if self.second_start and self._first:
            limit = max(limit - self._init_seconds, 0.0)
        self._cancel_timer()
        event.began, event.cold = now, self._first
        self.event, self.state = event, State.BUSY
        self._timer = self._loop.call_later(limit, self._timed_out)
        self._log.started(event.request_id)
        connection, self._waiting = self._waiting, None
        if connection is not None:
            deadline = int((time.time() + limit) * 1000)
            connection.send(runtime_api.next_event(event.request_id, deadline, self._arn, event.trace, event.body))
        # After the write, so that the process wakes up once.
        self.thaw()

    def rest(self) -> None:
        """Freeze the process and its children unless an event arrives at once; only when IDLE."""
        self._timer = self._loop.call_later(_FREEZE_AFTER, self._freeze)

    def _freeze(self) -> None:
        self._timer = None
        self.frozen = True
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Resume a frozen process."""
        if self.frozen:
            self.frozen = False
            self._signal(signal.SIGCONT)

    def kill(self) -> None:
        """End the process at once. Of the owner's methods only ``gone`` is called afterwards."""
        self._signal(signal.SIGKILL)
        if self.state is not State.DEAD:
            self._die()

    def _die(self) -> None:
        self.state = State.DEAD
        self.frozen = False
        self._waiting = None
        self._cancel_timer()
        if self._server is not None:
            self._server.close()

    def interrupt(self) -> None:
        """Kill the process in the middle of its event, as the kernel would when memory runs out."""
        self._log.write(f"RequestId: {self.event.request_id if self.event else ''} Error Type: Runtime.OutOfMemory\n")
        self._signal(signal.SIGKILL)

    def uses_too_much_memory(self) -> bool:
        """Whether the process ever held more than the function's memory."""
        return self._memory.sample(self.pid) > self.function.memory * 1024 * 1024

    def connected(self, connection: runtime_api.Connection) -> None:
        self._connections.add(connection)

    def disconnected(self, connection: runtime_api.Connection) -> None:
        self._connections.discard(connection)
        if self._waiting is connection:
            # It ended while it was idle: noticed here first, so that no event is lost to it.
            self.kill()
            self._owner.died(self)
        if self._ending is not None and not self._connections:
            self._finish()

    def ask_next(self, connection: runtime_api.Connection) -> None:
        if self.state not in (State.STARTING, State.RETURNING):
            return
        if self.state is State.STARTING:
            self._cancel_timer()
            self._init_seconds = time.monotonic() - self.since
        self._waiting = connection
        self.since = time.monotonic()
        self.state = State.IDLE
        self._owner.ready(self)

    def answer(self, request_id: str, payload: bytes | None, *, failed: bool) -> bytes:
        event = self.event
        if event is None or event.request_id != request_id or self.state is not State.BUSY:
            return runtime_api.INVALID_REQUEST_ID
        self.state = State.RETURNING
        if payload is None:
            self.stale = True  # awslambdaric ends itself when its answer is refused
            note = f"Response payload size exceeded maximum allowed payload size ({payloads.MAX_RESPONSE} bytes).\n"
            self._done(event, payloads.response_too_large(), "Unhandled", note)
            return runtime_api.TOO_LARGE
        self._done(event, payload, "Unhandled" if failed else None)
        return runtime_api.ACCEPTED

    def fail_init(self, payload: bytes) -> bytes:
        if self.state is State.STARTING:
            # Not killed yet: it writes its error to the log and ends, unless one of its threads is still running.
            self._die()
            self._timer = self._loop.call_later(_OUTPUT_SECONDS, self.kill)
            self._owner.init_failed(self, payload)
        return runtime_api.ACCEPTED

    def _init_timed_out(self) -> None:
        milliseconds = self._init_limit * 1000
        self._log.write(f"INIT_REPORT Init Duration: {milliseconds:.2f} ms\tPhase: init\tStatus: timeout\n")
        self.kill()
        self._owner.init_timed_out(self)

    def _timed_out(self) -> None:
        event = self.event
        if event is None:
            return
        self.kill()
        note = f"{event.request_id} Task timed out after {self.function.timeout:.2f} seconds\n"
        self._done(event, payloads.timed_out(event.request_id, self.function.timeout), "TimedOut", note)

    def _exited(self) -> None:
        if self.state is State.DEAD or not self._connections:
            self._finish()
        else:
            self._ending = self._loop.call_later(_OUTPUT_SECONDS, self._finish)

    def _finish(self) -> None:
        """The process has ended and all its output was read: reap it, and respond for it."""
        if self._ending is not None:
            self._ending.cancel()
            self._ending = None
        process, self._process = self._process, None
        if process is None:
            return
        status = process.reap()
        for connection in list(self._connections):
            connection.abort()
        was, event = self.state, self.event
        self._die()
        if was is State.BUSY and event is not None:
            note = f"RequestId: {event.request_id} Error: {payloads.exit_reason(status)}\nRuntime.ExitError\n"
            self._done(event, payloads.exited(event.request_id, status), "Unhandled", note)
        elif was is not State.DEAD:
            request_id = str(uuid.uuid4())
            self._log.write(f"RequestId: {request_id} Error: {payloads.exit_reason(status)}\nRuntime.ExitError\n")
            if was is State.STARTING:
                self._owner.init_failed(self, payloads.exited(request_id, status))
            else:
                self._owner.died(self)
        self._owner.gone(self)

    def _done(self, event: Event, payload: bytes, error: str | None, note: str = "") -> None:
        self._cancel_timer()
        self.event = None
        event.seconds = time.monotonic() - event.began
        init = self._init_seconds if self._first else None
        self._first = False
        self.since = time.monotonic()
        used = self._memory.sample(self.pid)
        self._log.ended(event.request_id, event.seconds, memory=self.function.memory, used=used, init=init, note=note)
        self._owner.answered(self, event, payload, error)

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _signal(self, number: signal.Signals) -> None:
        if self._process is not None:
            self._process.signal(number)
