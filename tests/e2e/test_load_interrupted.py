"""Ctrl-C during a load run writes the result of what happened so far."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

from tests.e2e.clients import until
from tests.e2e.conftest import ROOT, RunningStage

COMMAND = ["loadtest.load", "--shape", "endurance", "--scale", "0.1", "--seconds", "300", "--processes", "2"]


def test_ctrl_c_reads_back_what_was_accepted_and_says_partial(platform: RunningStage, tmp_path: Path) -> None:
    log = platform.state_dir / "logs" / "ReceiveFrame.log"
    before = log.stat().st_size if log.exists() else 0
    urls = {"HTTP_URL": platform.where["http_url"], "WS_URL": platform.where["websocket_url"]}
    process = subprocess.Popen(
        [sys.executable, "-m", *COMMAND, "--results", str(tmp_path)],
        cwd=ROOT,
        env={**os.environ, **urls, "TOKEN_URL": platform.where["token_url"]},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        until(lambda: log.stat().st_size if log.exists() else 0, lambda size: size > before + 5_000, 60)
    finally:
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=100)

    (result,) = tmp_path.glob("*.json")
    document = json.loads(result.read_text())
    (phase,) = document["phases"]
    assert process.returncode == 1
    assert document["partial"] is True
    assert "partial: interrupted after" in output
    assert phase["found"]["stored"] == phase["sent"]["accepted"] > 0
    assert phase["found"]["lost"] == phase["found"]["unexpected"] == 0
    assert "Partial:" in result.with_suffix(".html").read_text()
