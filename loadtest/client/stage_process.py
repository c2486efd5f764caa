"""A stage as a child process: started if none runs here, stopped again by whoever started it."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from loadtest.client.target import Target
from localstage.client.errors import ClientError
from localstage.client.running_stage import ROOT, stage_file

COMMAND = (sys.executable, "-m", "localstage", "up")
READY_WITHIN = 600.0  # the first start installs packages
STOPPED_WITHIN = 25.0
POLL = 0.1
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
PR_SET_PDEATHSIG = 1


class StageFailed(ClientError):
    """The stage did not start, or went away; the message is its own sentence."""


class StageProcess:
    """``localstage up`` in a session of its own, so that Ctrl-C reaches only its parent, which then stops it.

    Its lines go to ``echo``. It is told to end when the parent is gone, however that ended (Linux).
    """

    def __init__(
        self, echo: Callable[[str], object], command: Sequence[str] = COMMAND, file: Path | None = None
    ) -> None:
        self._echo = echo
        self._command = command
        self._stage_file = file or stage_file()
        self._process: subprocess.Popen[bytes] | None = None
        self._told = ""
        # A file and not a pipe: a stage whose parent was killed must not stumble over its own log lines.
        self._output = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
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
                if os.getppid() != parent:  # it was gone before the call
                    os._exit(1)

        self._process = subprocess.Popen(
            self._command,
            cwd=ROOT,
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
        """Pass on what the stage has said since.

        Raises:
            StageFailed: it has ended.
        """
        ended = self._process is not None and self._process.poll() is not None
        self._pass_on()
        if ended:
            raise StageFailed(self._told.removeprefix("headrace: ") or "the stage ended without a word")

    def stop(self) -> None:
        """Ask the stage to stop, wait for it, and kill what is left after 25 s. Ctrl-C does not cut this short."""
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
        """Stop, and let go of the output."""
        self.stop()
        self._output.close()

    def _pass_on(self) -> None:
        while chunk := os.pread(self._output.fileno(), 65536, self._offset):
            self._offset += len(chunk)
            *lines, self._rest = (self._rest + chunk).split(b"\n")
            for line in lines:
                self._told = line.decode("utf-8", "replace").rstrip() or self._told
                self._echo(self._told)


@contextmanager
def stage(echo: Callable[[str], object]) -> Iterator[tuple[Target, StageProcess | None]]:
    """The stage that runs here, left running; or else one started for this block and stopped at its end.

    Raises:
        StageFailed: none runs and none could be started.
    """
    running = Target.running()
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
    """Let SIGINT, SIGTERM and SIGHUP all end the block as Ctrl-C does, so that its ``finally`` parts run.

    SIGINT too, because a program started in the background by a script inherits it ignored.
    """

    def interrupt(_signal: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    with _handling(interrupt):
        yield


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Let nothing cut the block short that asks this process to end: it cleans up."""
    with _handling(signal.SIG_IGN):
        yield


@contextmanager
def _handling(handler: Callable[[int, FrameType | None], None] | signal.Handlers) -> Iterator[None]:
    before = {number: signal.signal(number, handler) for number in ENDING}
    try:
        yield
    finally:
        for number, previous in before.items():
            signal.signal(number, previous)
