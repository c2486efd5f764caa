"""Stages with a real broker; ``tests/conftest.py`` has the one that most tests share."""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import boto3
import pytest

from localstage.core.model import ACCOUNT
from localstage.services.typescript_client import ensure_typescript_client
from tests.e2e.clients import Client, unique

ROOT = Path(__file__).resolve().parents[2]
READY_WITHIN = 240.0
PORTS = ("--http-port", "0", "--websocket-port", "0", "--reference-port", "0")


def obey_ctrl_c() -> None:
    """Restore SIGINT in a child: in a background job of a script, as in ``nohup make test &``, it is ignored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class RunningStage:
    """A stage in its own process and state folder; ``before`` runs in the child, before the stage."""

    def __init__(
        self,
        state_dir: Path,
        template: Path,
        *arguments: str,
        environ: dict[str, str] | None = None,
        before: Callable[[], None] = obey_ctrl_c,
    ) -> None:
        self.state_dir = state_dir
        self.output = state_dir / "up.log"
        self.environ = {**os.environ, "LOCALSTAGE_STATE_DIR": str(state_dir), **(environ or {})}
        state_dir.mkdir(parents=True, exist_ok=True)
        (state_dir / "stage.json").unlink(missing_ok=True)  # of a stage that was killed
        command = [sys.executable, "-m", "localstage", "up", "--template", str(template), *arguments]
        with self.output.open("wb") as output:
            self.process = subprocess.Popen(
                command,
                cwd=ROOT,
                env=self.environ,
                stdout=output,
                stderr=output,
                start_new_session=True,
                preexec_fn=before,
            )

    @property
    def where(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.state_dir / "stage.json").read_text())
        return found

    def token(self, user: str, *scopes: str, ttl: int = 3600) -> str:
        body = json.dumps({"user": user, "scopes": scopes, "ttl": ttl}).encode()
        request = urllib.request.Request(self.where["token_url"], body, {"content-type": "application/json"})
        with urllib.request.urlopen(request, timeout=10) as answer:
            return str(json.load(answer)["access_token"])

    @property
    def session_token(self) -> str:
        """What the stage's emulators ask for."""
        return (self.state_dir / "session-token").read_text()

    @property
    def status(self) -> Any:
        """What the stage says of its services."""
        with urllib.request.urlopen(self.where["status_url"], timeout=10) as answer:
            return json.load(answer)

    def aws(self, service: str, make: Callable[..., Any] = boto3.client) -> Any:
        """A client of an emulator of the stage, ``dynamodb``, ``sqs`` or ``s3``; or what else ``make`` makes."""
        urls = [row["url"] for row in self.status["services"] if service in row["name"].lower()]
        return make(
            service,
            endpoint_url=urls[0],
            region_name="us-east-1",
            aws_access_key_id=ACCOUNT,
            aws_secret_access_key="local",
            aws_session_token=self.session_token,
        )

    def command(self, *arguments: str, stdout: int | IO[bytes] = subprocess.PIPE) -> subprocess.CompletedProcess[str]:
        """Run a ``localstage`` command with this stage's state folder."""
        command = [sys.executable, "-m", "localstage", *arguments]
        return subprocess.run(
            command, cwd=ROOT, env=self.environ, stdout=stdout, stderr=subprocess.PIPE, text=True, timeout=60
        )

    def wait_ready(self) -> RunningStage:
        deadline = time.monotonic() + READY_WITHIN
        while not (self.state_dir / "stage.json").exists():
            assert self.process.poll() is None, f"the stage ended:\n{self.output.read_text()}"
            assert time.monotonic() < deadline, f"the stage was not ready:\n{self.output.read_text()}"
            time.sleep(0.05)
        return self

    def stop(self, how: int = signal.SIGINT) -> int:
        if self.process.poll() is None:
            self.process.send_signal(how)
        try:
            return self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()  # the test fails, and no stage stays
            raise


def fresh_stage(
    name: str, template: Path, *arguments: str, before: Callable[[], None] = obey_ctrl_c, **more: str
) -> RunningStage:
    """A stage without data, of this test process alone. Installed services and built layers stay for the next run.

    It declares the example streams. ``more`` are variables of its process.
    """
    state_dir = ROOT / ".local" / "e2e" / (name + os.environ.get("PYTEST_XDIST_WORKER", ""))
    state_dir.mkdir(parents=True, exist_ok=True)
    for shared in ("node", "ministack", "typescript-client", "console"):
        (ROOT / ".local" / shared).mkdir(exist_ok=True)
        if not (state_dir / shared).exists():
            (state_dir / shared).symlink_to(ROOT / ".local" / shared)
    environ = {**os.environ, "LOCALSTAGE_STATE_DIR": str(state_dir)}
    subprocess.run(
        [sys.executable, "-m", "localstage", "reset", "--yes"], cwd=ROOT, env=environ, check=True, timeout=60
    )
    more = {"LOCALSTAGE_STREAMS": str(ROOT / "examples" / "streams"), **more}
    return RunningStage(state_dir, template, *PORTS, *arguments, environ=more, before=before)


@pytest.fixture(autouse=True)
def close_sockets() -> Iterator[None]:
    """Close what a test's clients opened."""
    yield
    while Client.open_sockets:
        Client.open_sockets.pop().close()
    Client.pool.clear()


@pytest.fixture(scope="session")
def typescript_client() -> Path:
    """The folder of the built client."""
    return asyncio.run(ensure_typescript_client(ROOT / ".local", ROOT))


@pytest.fixture(scope="session")
def packages(typescript_client: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the clients' packages, as a release publishes them."""
    folder = tmp_path_factory.mktemp("packages")
    subprocess.run([ROOT / "clients" / "pack.sh", folder], check=True)
    return folder


@pytest.fixture(scope="session")
def chromium() -> str:
    """The program of Chromium; as root it is installed with apt, if it is missing."""
    found = _chromium()
    if found is None and os.geteuid() == 0 and shutil.which("apt-get"):
        with (ROOT / ".local" / "chromium.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # another test process may install it
            quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
            for command in ("apt-get update -qq", "apt-get install -y -qq --no-install-recommends chromium"):
                subprocess.run(command.split(), env=quiet, check=_chromium() is None)
        found = _chromium()
    assert found, "Chromium is missing, which this test starts. On Debian, run: sudo apt-get install chromium"
    return found


def _chromium() -> str | None:
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@pytest.fixture
def alice(platform: RunningStage) -> Client:
    return Client(platform, unique("alice"))


@pytest.fixture
def bob(platform: RunningStage) -> Client:
    return Client(platform, unique("bob"))
