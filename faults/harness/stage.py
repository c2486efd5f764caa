"""The stage under test as a child process that may be killed and started again at the same addresses."""

from __future__ import annotations

import json
import subprocess
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from loadtest.client.stage_process import StageProcess, localstage
from loadtest.client.target import Target
from localstage.client.running_stage import ROOT


class FaultStage(StageProcess):
    """``localstage up`` with ``template``, in ``folder``, without the data of earlier runs.

    ``environment`` is added to this process's variables. The stage's lines are in ``up.log``.
    """

    def __init__(self, folder: Path, template: Path, environment: Mapping[str, str]) -> None:
        subprocess.run(localstage(folder, "reset", "--yes"), cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        folder.mkdir(parents=True, exist_ok=True)
        log = folder / "up.log"
        log.unlink(missing_ok=True)
        super().__init__(lambda _line: None, file=folder / "stage.json", environment=environment, log=log)
        self._template = template
        self._ports = ("0", "0")

    def start(self) -> Target:
        """Start, and wait until it is ready. Later starts use the same ports.

        Raises:
            StageFailed: it ended, or was not ready in time.
        """
        self._stage_file.unlink(missing_ok=True)  # left by a killed stage
        http, websocket = self._ports
        ports = ("--http-port", http, "--websocket-port", websocket)
        self._command = localstage(self._stage_file.parent, "up", "--template", str(self._template), *ports)
        target = super().start()
        self._ports = (_port(target.http_url), _port(target.websocket_url))
        return target

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid if self._process is not None else 0

    def working(self, function: str) -> int:
        """The number of events that the function processes or that wait for it, as the stage reports it.

        Raises:
            OSError: the stage does not answer.
        """
        url = json.loads(self._stage_file.read_text())["status_url"]
        with urllib.request.urlopen(url, timeout=10) as answer:  # noqa: S310 - our own loopback URL
            counts = json.load(answer)["functions"][function]
        return int(counts["busy"] + counts["waiting"])

    def kill(self) -> None:
        """Kill it (-9). Its workers and services end within seconds."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()


def _port(url: str) -> str:
    return str(urlsplit(url).port)
