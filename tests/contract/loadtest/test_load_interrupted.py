"""Ctrl-C during a load run, or the end of its patience, writes the result of what happened so far."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from localstage.client.running_stage import ROOT
from tests.contract.loadtest.fake_stage import FakeStage


def start(stage: FakeStage, folder: Path, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "loadtest.load", "--shape", "endurance", "--scale", "0.1", "--seconds", "300"]
    urls = {"HTTP_URL": stage.http_url, "WS_URL": stage.websocket_url, "TOKEN_URL": stage.token_url}
    process = subprocess.Popen(
        [*command, "--results", str(folder), *arguments],
        cwd=ROOT,
        env={**os.environ, **urls},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    deadline = time.monotonic() + 60
    while stage.frames < 10 and time.monotonic() < deadline:
        assert process.poll() is None, process.communicate()[0]
        time.sleep(0.05)
    return process


INTERRUPTED, IMPATIENT = "partial: interrupted after", "events not accepted in at most 1 s (RETRY_TIMEOUT): "


@pytest.mark.parametrize(
    ("number", "arguments", "said"),
    [
        pytest.param(signal.SIGINT, ["--processes", "2"], INTERRUPTED, id="Ctrl-C, two workers"),
        pytest.param(signal.SIGTERM, [], INTERRUPTED, id="SIGTERM, one process", marks=pytest.mark.long),
        pytest.param(0, ["--retry-timeout", "1"], IMPATIENT, id="its time is over"),
    ],
)
def test_a_run_that_ends_early_reads_back_what_was_accepted_and_says_partial(
    stage: FakeStage, tmp_path: Path, arguments: list[str], number: int, said: str
) -> None:
    """Its senders wait for a stage that is behind, and do not wait for the end."""
    stage.faults.behind = range(10, 1_000_000)
    process = start(stage, tmp_path, *arguments)
    lines = iter(process.stdout.readline, "")  # type: ignore[union-attr]
    behind = next(line for line in lines if "the stage is behind" in line)

    process.send_signal(number)
    output, _ = process.communicate(timeout=60)

    (result,) = tmp_path.glob("*.json")
    document = json.loads(result.read_text())
    (phase,) = document["phases"]
    assert process.returncode == 1
    assert document["partial"] is True
    assert "partial: the run did not reach its end" in output
    assert said in output
    assert re.match(r"endurance: [\d,]+ messages accepted; sending \d+ of \d+ events again in ", behind)
    assert phase["found"]["stored"] == phase["sent"]["accepted"] == stage.accepted
    assert phase["found"]["lost"] == phase["found"]["unexpected"] == 0
    assert "Partial:" in result.with_suffix(".html").read_text()
