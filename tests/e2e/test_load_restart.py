"""A load test while its stage is killed and started again."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.e2e.clients import until
from tests.e2e.conftest import ROOT, RunningStage, fresh_stage
from tests.e2e.test_lifecycle import status

TEMPLATE = ROOT / "template.yaml"
SENT = 20
"""Frames after which the load is under way."""


@pytest.fixture
def killed_stage() -> Iterator[RunningStage]:
    """A stage for one test, which kills it."""
    stage = fresh_stage("killed", TEMPLATE)
    try:
        yield stage.wait_ready()
    finally:
        stage.stop(signal.SIGKILL)


def frames(stage: RunningStage) -> int:
    """How many frames the stage has received."""
    return int(status(stage)["functions"]["ReceiveFrame"]["invocations"])


@pytest.mark.long
def test_a_run_goes_on_when_its_stage_starts_again_and_nothing_is_lost(
    killed_stage: RunningStage, tmp_path: Path
) -> None:
    where = killed_stage.where
    ports = [str(urlsplit(where[name]).port) for name in ("http_url", "websocket_url")]
    # A slow machine needs half a minute to start the stage again, and the rest to send what waited meanwhile.
    options = ["--shape", "endurance", "--scale", "0.1", "--seconds", "60", "--results", str(tmp_path)]
    command = [sys.executable, "-m", "loadtest.load", *options]
    environ = {**os.environ, "LOCALSTAGE_STATE_DIR": str(killed_stage.state_dir)}
    with subprocess.Popen(command, cwd=ROOT, env=environ, stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        while "sending" not in run.stdout.readline():
            assert run.poll() is None
        # On a slow machine, users still connect for a while; a kill then would meet no open connection.
        until(lambda: frames(killed_stage), lambda count: count >= SENT, patience=60)
        killed_stage.stop(signal.SIGKILL)
        again = RunningStage(
            killed_stage.state_dir, TEMPLATE, "--http-port", ports[0], "--websocket-port", ports[1]
        ).wait_ready()
        try:
            output, _ = run.communicate(timeout=200)
        finally:
            again.stop()

    (path,) = tmp_path.glob("*.json")
    phase = json.loads(path.read_text())["phases"][0]
    assert run.returncode == 0, output
    assert phase["sent"]["accepted"] == phase["found"]["stored"] == phase["sent"]["attempted"]
    assert phase["sent"]["reconnections"] > 0
