"""A function's log file: its processes write to it directly, the stage adds Lambda's START, END and REPORT lines."""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import time
from pathlib import Path

_log = logging.getLogger("localstage.functions")

MAX_BYTES = 16 * 1024 * 1024
TAIL = 16 * 1024
_SAMPLE = 1.0


class FunctionLog:
    """An append-only file, shared with the processes that inherit :attr:`fd`.

    When the disk is full, lines are dropped: a log must not stop a function.
    """

    def __init__(self, path: Path, *, max_bytes: int = MAX_BYTES) -> None:
        self.path = path
        self._max_bytes = max_bytes
        self._warned = False
        path.parent.mkdir(parents=True, exist_ok=True)
        self.fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def write(self, text: str) -> None:
        """Append ``text`` in one write, so that it does not mix with what a process writes."""
        try:
            os.write(self.fd, text.encode(errors="backslashreplace"))
        except OSError as error:
            if not self._warned:
                self._warned = True
                _log.warning("%s cannot be written, log lines are lost: %s", self.path, error.strerror)

    def tail(self) -> str:
        """The last 16 KB; the first line is perhaps cut."""
        with self.path.open("rb") as file:
            file.seek(max(0, os.fstat(self.fd).st_size - TAIL))
            return file.read(TAIL).decode(errors="replace")

    def rotate(self) -> None:
        """Move the content to ``<name>.1`` once the file is larger than its limit.

        It is copied and truncated, not renamed: running processes keep the file open and continue to append.
        A line written between the two steps is lost.
        """
        with contextlib.suppress(OSError):  # tried again a second later
            if os.fstat(self.fd).st_size > self._max_bytes:
                shutil.copyfile(self.path, self.path.with_name(self.path.name + ".1"))
                os.ftruncate(self.fd, 0)

    def close(self) -> None:
        """Close the stage's side of the file."""
        os.close(self.fd)

    def started(self, request_id: str) -> None:
        """Write the line that comes before an event."""
        self.write(f"START RequestId: {request_id} Version: $LATEST\n")

    def ended(
        self, request_id: str, seconds: float, *, memory: int, used: int, init: float | None = None, note: str = ""
    ) -> None:
        """Write END and REPORT; ``used`` in bytes, ``memory`` in MB, ``note`` whole lines that come before them."""
        duration = seconds * 1000
        cold = f"\tInit Duration: {init * 1000:.2f} ms" if init is not None else ""
        self.write(
            f"{note}END RequestId: {request_id}\n"
            f"REPORT RequestId: {request_id}\tDuration: {duration:.2f} ms\tBilled Duration: {int(-(-duration // 1))} ms"
            f"\tMemory Size: {memory} MB\tMax Memory Used: {used // (1024 * 1024)} MB{cold}\n"
        )


class PeakMemory:
    """The most memory that one process ever held, read from /proc at most once a second, because reading costs CPU."""

    def __init__(self) -> None:
        self._read_at = float("-inf")
        self._bytes = 0

    def sample(self, pid: int) -> int:
        """Bytes; the last known value once the process has ended."""
        now = time.monotonic()
        if now - self._read_at >= _SAMPLE:
            self._read_at = now
            with contextlib.suppress(OSError):
                _, _, rest = Path(f"/proc/{pid}/status").read_text().partition("VmHWM:")
                self._bytes = max(self._bytes, int((rest.split(None, 1) or ["0"])[0]) * 1024)
        return self._bytes
