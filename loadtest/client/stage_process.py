"""A local stage as a child process: started if none runs here, and stopped at the end."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from types import FrameType, MappingProxyType
from typing import Any
from urllib.parse import urlsplit

from loadtest.client.target import Target
from localstage.client.errors import ClientError
from localstage.client.http_api import HttpApi
from localstage.client.running_stage import ROOT, stage_file
from localstage.services.services import WRITES_PER_KEY

READY_WITHIN = 600.0  # the first start installs packages
STOPPED_WITHIN = 25.0
POLL = 0.1
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
PR_SET_PDEATHSIG = 1


def localstage(folder: Path, *arguments: str) -> tuple[str, ...]:
    """The command ``localstage`` for the stage whose data is in ``folder``."""
    return (sys.executable, "-m", "localstage", "--state-dir", str(folder), *arguments)


class StageFailed(ClientError):
    """The stage did not start, or ended; the message is its last line."""


class StageProcess:
    """``localstage up`` in a separate session, so that Ctrl-C reaches only the parent, which then stops it.

    It is the stage of ``checkout``. Its lines go to ``echo``, and to ``log`` if there is one. ``environment`` is added
    to the parent's variables. On Linux it gets SIGTERM when the parent ends for any reason.
    """

    def __init__(
        self,
        echo: Callable[[str], object],
        command: Sequence[str] = (),
        file: Path | None = None,
        *,
        environment: Mapping[str, str] = MappingProxyType({}),
        log: Path | None = None,
        checkout: Path = ROOT,
    ) -> None:
        self._echo = echo
        self._stage_file = file or stage_file()
        self._command = command or localstage(self._stage_file.parent, "up")
        self._environment = environment
        self._checkout = checkout
        self._process: subprocess.Popen[bytes] | None = None
        self._last_line = ""
        # A file, because a stage whose parent was killed could not write to a pipe.
        self._output = tempfile.TemporaryFile() if log is None else log.open("a+b")  # noqa: SIM115
        self._offset = 0
        self._rest = b""

    def start(self) -> Target:
        """Start and wait until the stage is ready.

        Raises:
            StageFailed: it ended, or was not ready within ten minutes.
        """
        parent = os.getpid()
        libc = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None

        def end_with_parent() -> None:
            if libc is not None:
                libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
                if os.getppid() != parent:  # the parent ended before the call
                    os._exit(1)

        self._process = subprocess.Popen(
            self._command,
            cwd=self._checkout,
            env={**os.environ, **self._environment},
            stdin=subprocess.DEVNULL,
            stdout=self._output,
            stderr=self._output,
            start_new_session=True,
            preexec_fn=end_with_parent,
        )
        deadline = time.monotonic() + READY_WITHIN
        while time.monotonic() < deadline:
            self.check()
            ready = Target.running(self._stage_file)
            if ready is not None:
                return ready
            time.sleep(POLL)
        raise StageFailed(f"the stage was not ready within {READY_WITHIN:.0f} s")

    def check(self) -> None:
        """Pass on the new lines of the stage.

        Raises:
            StageFailed: it has ended.
        """
        ended = self._process is not None and self._process.poll() is not None
        self.pass_on()
        if ended:
            raise StageFailed(self._last_line.removeprefix("headrace: ") or "the stage ended without a message")

    def stop(self) -> None:
        """Stop the stage; kill it after 25 s. Ctrl-C does not interrupt this."""
        if self._process is None or self._process.poll() is not None:
            return
        with uninterrupted():
            self._process.send_signal(signal.SIGTERM)
            try:
                self._process.wait(STOPPED_WITHIN)
            except subprocess.TimeoutExpired:
                os.killpg(self._process.pid, signal.SIGKILL)
                self._process.wait()

    def close(self) -> None:
        """Stop the stage and close its output."""
        self.stop()
        self._output.close()

    def pass_on(self) -> None:
        """Pass the new lines of the stage to ``echo``."""
        while chunk := os.pread(self._output.fileno(), 65536, self._offset):
            self._offset += len(chunk)
            *lines, self._rest = (self._rest + chunk).split(b"\n")
            for line in lines:
                self._last_line = line.decode("utf-8", "replace").rstrip() or self._last_line
                self._echo(self._last_line)


class SeparateStage(StageProcess):
    """A stage in ``folder`` without the data of earlier runs, at free ports; its lines are in ``up.log``.

    It is the stage of ``checkout``; ``options`` are those of ``localstage up``. A stage that was killed may be started
    again, at the same addresses.
    """

    def __init__(
        self,
        folder: Path,
        *options: str,
        environment: Mapping[str, str] = MappingProxyType({}),
        checkout: Path = ROOT,
    ) -> None:
        subprocess.run(localstage(folder, "reset", "--yes"), cwd=checkout, check=True, stdout=subprocess.DEVNULL)
        folder.mkdir(parents=True, exist_ok=True)
        log = folder / "up.log"
        log.unlink(missing_ok=True)
        file = folder / "stage.json"
        super().__init__(lambda _line: None, file=file, environment=environment, log=log, checkout=checkout)
        self._options = options
        self._ports: tuple[int | None, int | None] = (0, 0)

    def start(self) -> Target:
        """Start, and wait until it is ready, as :meth:`StageProcess.start`."""
        self._stage_file.unlink(missing_ok=True)  # left by a killed stage
        http, websocket = map(str, self._ports)
        ports = ["--http-port", http, "--websocket-port", websocket]
        if self._checkout == ROOT:  # an older one does not know the option
            ports += ["--reference-port", "0"]
        self._command = localstage(self._stage_file.parent, "up", *self._options, *ports)
        target = super().start()
        self._ports = (urlsplit(target.http_url).port, urlsplit(target.websocket_url).port)
        return target

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid if self._process is not None else 0

    def status(self) -> dict[str, Any]:
        """Its services, and the counts of its functions.

        Raises:
            ClientError: it does not answer.
        """
        with closing(HttpApi(json.loads(self._stage_file.read_text())["status_url"])) as api:
            return api.get("/")

    def kill(self) -> None:
        """Kill it (-9). Its workers and services end within seconds."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()


@contextmanager
def stage(echo: Callable[[str], object], named: Target | None = None) -> Iterator[tuple[Target, StageProcess | None]]:
    """Yield ``named`` or the stage that runs here, or start one for this block and stop it at the end.

    Raises:
        StageFailed: none runs and none could be started.
        ClientError: a limit is given for one that is to be started.
    """
    running = named or Target.running()
    if running is not None and (os.environ.get(WRITES_PER_KEY) or "0") != "0":
        raise ClientError(f"{WRITES_PER_KEY} is for a stage that is started here, and one runs already; stop it first")
    if running is not None:
        with interruptible():
            yield running, None
        return
    process = StageProcess(echo)
    with interruptible():
        try:
            yield process.start(), process
        finally:
            process.close()


@contextmanager
def interruptible() -> Iterator[None]:
    """Let SIGINT, SIGTERM and SIGHUP end the block as Ctrl-C does, so that its ``finally`` clauses run.

    SIGINT is set too, because a program that a script starts in the background ignores it.
    """

    def interrupt(_signal: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    with handling(interrupt):
        yield


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Ignore SIGINT, SIGTERM and SIGHUP during the block, which cleans up."""
    with handling(signal.SIG_IGN):
        yield


@contextmanager
def handling(handler: Callable[[int, FrameType | None], None] | signal.Handlers) -> Iterator[None]:
    """Handle SIGINT, SIGTERM and SIGHUP with ``handler`` during the block."""
    before = {number: signal.signal(number, handler) for number in ENDING}
    try:
        yield
    finally:
        for number, previous in before.items():
            signal.signal(number, previous)
