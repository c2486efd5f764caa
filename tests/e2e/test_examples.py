"""The programs of ``examples`` run as their first lines say."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from localstage.services.install import ensure_node_packages
from tests.e2e.clients import Client, unique
from tests.e2e.conftest import ROOT, RunningStage
from tests.worlds.node import node


def environ(stage: RunningStage, user: Client) -> dict[str, str]:
    """The variables that ``make env`` sets, and the Python client."""
    where, client = stage.where, {"PYTHONPATH": str(ROOT / "clients" / "python")}
    return {**os.environ, **client, "HEADRACE": where["http_url"], "WS": where["websocket_url"], "TOKEN": user.token}


def test_the_bot_answers_in_its_room(platform: RunningStage, alice: Client) -> None:
    room, bot = unique("room"), Client(platform, unique("bot"))
    command = [sys.executable, "examples/bot.py", room]
    with subprocess.Popen(command, cwd=ROOT, env=environ(platform, bot), stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == f"following {room}\n"

            assert alice.http("POST", f"/rooms/{room}/messages", {"message": "ping"})[0] == 202

            assert [item["message"] for item in alice.wait_for(room, 2)] == [f"pong, {alice.user}", "ping"]
            assert len((ROOT / "examples" / "bot.py").read_text().splitlines()) <= 40
        finally:
            process.terminate()


def test_a_locust_file_needs_nothing_of_ours(platform: RunningStage, alice: Client) -> None:
    command = [sys.executable, "-m", "locust", "-f", "examples/locustfile.py", "-H", platform.where["http_url"]]
    options = ["--headless", "--users", "2", "--spawn-rate", "2", "--run-time", "4s", "--only-summary"]

    done = subprocess.run([*command, *options], cwd=ROOT, env=environ(platform, alice), capture_output=True, text=True)

    assert done.returncode == 0, done.stdout + done.stderr
    assert alice.room("load")
    assert len((ROOT / "examples" / "locustfile.py").read_text().splitlines()) <= 20


@pytest.mark.timeout(300)
def test_two_people_chat_in_chromium_while_the_broker_is_killed(
    platform: RunningStage, typescript_client: Path, chromium: str
) -> None:
    source = ROOT / "examples" / "chat"
    packages = asyncio.run(ensure_node_packages(ROOT / ".local", source, "chat", "the chat app's tools"))
    where = {"STAGE": str(platform.state_dir / "stage.json"), "CHROMIUM": chromium, "PACKAGES": str(packages)}

    node("--test", "--test-timeout=240000", source / "tests" / "chat.test.mjs", folder=typescript_client, **where)
