"""A stage started for a demo is ready when it reports so, fails with its message, and never outlives the demo."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from loadtest.client.stage_process import StageFailed, StageProcess
from localstage.client.running_stage import ROOT

STAGE = """
import json, os, signal, sys, time
print("12:00:00  services   RabbitMQ ready", file=sys.stderr, flush=True)
path = {path!r}
urls = {urls!r}
json.dump({{"pid": os.getpid(), **urls}}, open(path + ".new", "w"))
os.rename(path + ".new", path)
signal.signal(signal.SIGTERM, lambda *_: (os.unlink(path), sys.exit(0)))
def warn(*_):
    print("12:00:09  services   RabbitMQ does not answer", file=sys.stderr, flush=True)
    open(path + ".warned", "w")
signal.signal(signal.SIGUSR1, warn)
while True:
    time.sleep(0.05)
"""


def stage_command(file: Path, port: int = 9) -> list[str]:
    """A program that says it is a stage whose addresses are all on this port."""
    urls = dict.fromkeys(("http_url", "websocket_url", "token_url", "status_url"), f"http://127.0.0.1:{port}/")
    more = {"issuer": "", "started_at": 0.0}
    return [sys.executable, "-c", STAGE.format(path=str(file), urls={**urls, **more})]


def wait_until_gone(pid: int) -> None:
    for _ in range(200):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return
        # A killed child process is a zombie until it is waited for; init reaps a grandchild.
        if Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z":
            return
        time.sleep(0.05)
    raise AssertionError(f"process {pid} is still there")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "stage.json"


def test_a_stage_that_fails_to_start_is_reported_with_its_error(file: Path) -> None:
    command = [sys.executable, "-c", "import sys; sys.exit('headrace: RabbitMQ is missing. Run: apt-get install it')"]
    process = StageProcess(lambda _: None, command, file)

    with pytest.raises(StageFailed, match=r"^RabbitMQ is missing\. Run: apt-get install it$"):
        process.start()
    process.close()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_stage_ends_when_its_demo_ends_or_is_killed(file: Path, number: signal.Signals) -> None:
    script = (
        "import time; from pathlib import Path; from loadtest.client import stage_process as s\n"
        f"p = s.StageProcess(print, {stage_command(file)!r}, Path({str(file)!r}))\n"
        "p.start(); time.sleep(60)\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", script], cwd=ROOT)
    while not file.exists():
        time.sleep(0.02)
    child = json.loads(file.read_text())["pid"]

    parent.send_signal(number)
    parent.wait()

    wait_until_gone(child)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_during_a_replay_shows_what_the_stage_said_and_stops_it_without_a_traceback(
    file: Path, number: signal.Signals
) -> None:
    server = socket.create_server(("127.0.0.1", 0))
    command = stage_command(file, server.getsockname()[1])
    script = (
        "import sys; from pathlib import Path; from loadtest import demo\n"
        "from loadtest.client import stage_process as s\n"
        f"file = Path({str(file)!r}); command = {command!r}; real = s.StageProcess\n"
        "s.StageProcess = lambda echo: real(echo, command, file)\n"
        "sys.exit(demo.main(['--messages', '50']))\n"
    )
    environment = {**os.environ, "LOCALSTAGE_STATE_DIR": str(file.parent)}
    process = subprocess.Popen(
        [sys.executable, "-c", script],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    request, _ = server.accept()  # and never answered
    child = json.loads(file.read_text())["pid"]
    os.kill(child, signal.SIGUSR1)
    while not file.with_name(f"{file.name}.warned").exists():
        time.sleep(0.02)

    process.send_signal(number)
    output, error = process.communicate()

    assert process.returncode == 130
    assert "RabbitMQ does not answer" in output
    assert error.strip() == "headrace: interrupted"
    wait_until_gone(child)
    request.close()
    server.close()
