"""The stage under test as a child process that may be killed and started again at the same addresses."""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from loadtest.client.stage_process import PR_SET_PDEATHSIG, STOPPED_WITHIN, StageFailed
from loadtest.client.target import Target

ROOT = Path(__file__).resolve().parents[2]
READY_WITHIN = 300.0


class FaultStage:
    """``localstage up`` of ``template`` in ``folder``; ``environment`` is added to this process's variables."""

    def __init__(self, folder: Path, template: Path, environment: Mapping[str, str]) -> None:
        self.folder = folder
        self._template = template
        self._environment = environment
        self._ports = ("0", "0")
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> Target:
        """Start, and wait until it is ready. Later starts use the same ports.

        Raises:
            StageFailed: it ended, or was not ready within five minutes; the message is the end of its log.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        file = self.folder / "stage.json"
        file.unlink(missing_ok=True)  # of a stage that was killed
        command = [sys.executable, "-m", "localstage", "up", "--template", str(self._template)]
        command += ["--http-port", self._ports[0], "--websocket-port", self._ports[1]]
        environment = {**os.environ, **self._environment, "LOCALSTAGE_STATE_DIR": str(self.folder)}
        log = self.folder / "up.log"
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                command,
                cwd=ROOT,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
                preexec_fn=_end_with_parent,
            )
        deadline = time.monotonic() + READY_WITHIN
        while time.monotonic() < deadline:
            if (target := Target.running(file)) is not None:
                self._ports = (_port(target.http_url), _port(target.websocket_url))
                return target
            if self._process.poll() is not None:
                break
            time.sleep(0.1)
        last_lines = log.read_text(encoding="utf-8", errors="replace").splitlines()[-3:]
        raise StageFailed(f"the fault stage did not start: {' / '.join(last_lines)}")

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid if self._process is not None else 0

    def working(self, function: str) -> int:
        """The number of this function's events under way or waiting, as the stage reports it.

        Raises:
            OSError: the stage does not answer.
        """
        url = json.loads((self.folder / "stage.json").read_text())["status_url"]
        with urllib.request.urlopen(url, timeout=10) as answer:  # noqa: S310 - our own loopback URL
            counts = json.load(answer)["functions"][function]
        return int(counts["busy"] + counts["waiting"])

    def kill(self) -> None:
        """Kill it (-9). Its workers and services end when they notice."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def stop(self) -> None:
        """Ask it to stop, wait, and kill what is left."""
        if self._process is None or self._process.poll() is not None:
            return
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(STOPPED_WITHIN)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    def reset(self) -> None:
        """Delete the data of earlier runs; installed programs stay."""
        for name in ("services", "logs"):
            shutil.rmtree(self.folder / name, ignore_errors=True)
        for name in ("secrets.json", "custom-resources.json", "up.log"):
            (self.folder / name).unlink(missing_ok=True)


def _end_with_parent() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def _port(url: str) -> str:
    return str(urlsplit(url).port)
