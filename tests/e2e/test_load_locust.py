"""A shape of load starts from Locust's web UI, and with a master and workers."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import urllib3

from tests.e2e.clients import until
from tests.e2e.conftest import ROOT, RunningStage
from tests.worlds.ports import free_port

pytestmark = pytest.mark.long

SIZE = ["--shape", "frames", "--scale", "0.002"]
WITHIN = 60.0


@contextmanager
def started(stage: RunningStage, *arguments: str, **variables: str) -> Iterator[subprocess.Popen[str]]:
    """A Python process that knows the stage. At the end it gets SIGTERM, with which it ends Locust too."""
    environ = {**os.environ, "PYTHONPATH": str(ROOT), "TOKEN_URL": stage.where["token_url"], **variables}
    command = [sys.executable, "-m", *arguments]
    with subprocess.Popen(
        command, cwd=ROOT, env=environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        try:
            yield process
        finally:
            process.terminate()


def urls(stage: RunningStage) -> list[str]:
    return ["--http-url", stage.where["http_url"], "--websocket-url", stage.where["websocket_url"]]


def results(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]


@pytest.mark.timeout(240)
def test_runs_start_from_the_web_ui_and_end_with_ctrl_c(platform: RunningStage, tmp_path: Path) -> None:
    """Its form has none of our options."""
    port = str(free_port())
    web = f"http://127.0.0.1:{port}"

    def page() -> str:
        try:
            return urllib3.request("GET", web, retries=False).data.decode()
        except urllib3.exceptions.HTTPError:
            return ""

    command = ["loadtest.load", "--web", *SIZE, "--results", str(tmp_path), *urls(platform)]
    with started(platform, *command, LOCUST_WEB_PORT=port) as process:
        texts = set(until(page, bool, WITHIN).split('"'))
        assert "user_count" in texts or "num_users" in texts
        assert not {"scale", "websocket_url"} & texts
        for number in (1, 2):
            form = {"user_count": "4", "spawn_rate": "4"}
            assert urllib3.request("POST", f"{web}/swarm", fields=form).json()["success"] is True
            until(lambda: list(tmp_path.glob("*.html")), lambda pages, number=number: len(pages) == number, WITHIN)
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=WITHIN)

    assert process.returncode == 0, output
    assert output.startswith(f"headrace: open {web} and press Start")
    assert output.count("stored=100 lost=0") == 2
    assert [(each["passed"], each["phases"][0]["found"]["stored"]) for each in results(tmp_path)] == [(True, 100)] * 2


@pytest.mark.timeout(240)
def test_a_master_and_its_workers_share_a_run(platform: RunningStage, tmp_path: Path) -> None:
    port = str(free_port())
    files = ["--results", str(tmp_path), "--requests", str(tmp_path / "requests.csv")]
    command = ["locust", "-f", "loadtest/locustfile.py", *SIZE, *files, *urls(platform)]
    master = [*command, "--headless", "--only-summary", "--master", "--expect-workers", "2", "--master-bind-port", port]
    worker = [*command, "--worker", "--master-port", port]

    with started(platform, *master) as process, started(platform, *worker), started(platform, *worker):
        output, _ = process.communicate(timeout=2 * WITHIN)

    assert process.returncode == 0, output
    (result,) = results(tmp_path)
    assert result["passed"]
    assert [(phase["users"], phase["found"]["stored"]) for phase in result["phases"]] == [(4, 100), (4, 20)]
    texts = [(tmp_path / name).read_text() for name in ("requests.csv", "requests-1.csv")]
    requests = [list(csv.reader(text.splitlines())) for text in texts]
    assert [rows[0] for rows in requests] == [["start_time_ms", "request_type", "latency_ms", "response_code"]] * 2
    codes = Counter((kind, code) for rows in requests for _, kind, _, code in rows[1:])
    assert (codes["WebSocket", "acks"], codes["WebSocket", "ack"]) == (4, 20)
