"""A stage with a test template starts, reloads, refuses to start and ends."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import time
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.e2e.clients import until
from tests.e2e.conftest import PORTS, ROOT, RunningStage, fresh_stage

ECHO = ROOT / "tests" / "e2e" / "echo"


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the echo template that tests may edit."""
    folder = tmp_path_factory.mktemp("echo")
    shutil.copytree(ECHO, folder, dirs_exist_ok=True)
    return folder / "template.yaml"


@pytest.fixture(scope="module")
def echo(template: Path) -> Iterator[RunningStage]:
    """A stage for tests that do not end it."""
    stage = fresh_stage("echo", template)
    try:
        yield stage.wait_ready()
    finally:
        stage.stop()


@pytest.fixture
def own_stage(template: Path) -> Iterator[RunningStage]:
    """A stage for a single test, which may end it."""
    stage = fresh_stage("own_stage", template)
    try:
        yield stage.wait_ready()
    finally:
        stage.stop(signal.SIGKILL)


def get(stage: RunningStage, path: str = "/echo") -> Any:
    with urllib.request.urlopen(stage.where["http_url"] + path, timeout=20) as answer:
        return json.load(answer)


def descendants(pid: int) -> set[int]:
    """All processes below ``pid`` now."""
    return {each.pid for each in psutil.Process(pid).children(recursive=True)}


def alive(pids: set[int]) -> set[int]:
    left = set()
    for pid in pids:
        with suppress(psutil.NoSuchProcess):
            if psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
                left.add(pid)
    return left


def test_the_next_event_runs_edited_code_without_a_restart(echo: RunningStage, template: Path) -> None:
    code = template.parent / "functions" / "echo" / "app.py"
    before = code.read_text()
    get(echo)

    try:
        code.write_text(before.replace('"http"', '"edited"'))
        until(lambda: get(echo)["kind"], lambda kind: kind == "edited")
    finally:
        code.write_text(before)


def test_a_killed_stage_leaves_no_process_and_the_next_one_starts(own_stage: RunningStage, template: Path) -> None:
    get(own_stage)
    family = descendants(own_stage.process.pid)
    assert len(family) >= 5

    own_stage.stop(signal.SIGKILL)

    # The next stage waits until the services of the killed one have ended.
    again = RunningStage(own_stage.state_dir, template, *PORTS)
    try:
        assert get(again.wait_ready())["kind"] == "http"
        assert not alive(family)
    finally:
        again.stop()


def test_only_its_user_reads_what_a_stage_writes_and_ctrl_c_ends_all_its_processes(template: Path) -> None:
    stage = fresh_stage("own_stage", template)
    stage.state_dir.chmod(0o755)  # as an earlier version left it
    try:
        get(stage.wait_ready())
        written = [stage.state_dir / "stage.json", *(stage.state_dir / "logs").rglob("*")]
        written += (stage.state_dir / "services").rglob("*")
        modes = {str(path): path.stat().st_mode & 0o077 for path in written if path.is_file() or path.is_dir()}
        family = descendants(stage.process.pid)

        assert stage.stop(signal.SIGINT) == 0
    finally:
        stage.stop(signal.SIGKILL)

    assert stage.state_dir.stat().st_mode & 0o777 == 0o700
    assert len(modes) > 20
    assert {path: mode for path, mode in modes.items() if mode} == {}
    assert not alive(family)
    assert stage.output.read_text().rstrip().endswith("stopped")
    assert not (stage.state_dir / "stage.json").exists()


def test_a_stage_in_the_background_of_a_script_ignores_ctrl_c_and_ends_on_sigterm(template: Path) -> None:
    def background() -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    stage = fresh_stage("own_stage", template, before=background)
    try:
        family = descendants(stage.wait_ready().process.pid)
        stage.process.send_signal(signal.SIGINT)
        assert get(stage)["kind"] == "http"

        assert stage.stop(signal.SIGTERM) == 0
    finally:
        stage.stop(signal.SIGKILL)
    assert not alive(family)


def test_a_client_that_closes_early_does_not_end_the_stage(echo: RunningStage) -> None:
    host, port = echo.where["http_url"].removeprefix("http://").split(":")
    for _ in range(20):
        with socket.create_connection((host, int(port)), timeout=10) as client:
            client.sendall(b"GET /echo HTTP/1.1\r\nHost: stage\r\n\r\n" * 50)

    assert get(echo)["kind"] == "http"
    assert echo.process.poll() is None


@pytest.mark.parametrize("command", [("token", "--user", "alice"), ("status",), ("logs", "EchoFunction")])
def test_a_command_ends_without_a_traceback_when_its_pipe_closes(echo: RunningStage, command: tuple[str, ...]) -> None:
    get(echo)  # so that there is a log
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as output:
        process = echo.command(*command, stdout=output)

    assert process.stderr == ""


@pytest.mark.parametrize("seconds", [0.3, 1.5, 4.0])
def test_ctrl_c_during_the_start_leaves_no_process(template: Path, seconds: float) -> None:
    stage = fresh_stage("own_stage", template)
    time.sleep(seconds)
    family = descendants(stage.process.pid)

    stage.stop(signal.SIGINT)

    until(lambda: alive(family), lambda left: not left)
    assert "Traceback" not in stage.output.read_text()
