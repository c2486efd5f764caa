"""Load tests and demos of a stage that issues no tokens for any user: tokens come from a client or a file."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.contract.loadtest.cognito import CLIENT, SECRET, Cognito
from tests.e2e.conftest import ROOT, RunningStage

SHORT = 4
"""Seconds that a token is valid; it is replaced when a fifth of them is left."""


@pytest.fixture
def pool(platform: RunningStage) -> Iterator[Cognito]:
    """A user pool whose tokens the stage accepts. Here they are of the stage's issuer, without a prefix of scopes."""
    running = Cognito(lambda scope: platform.token(CLIENT, *scope.replace("headrace/", "").split()))
    yield running
    running.close()


def run(stage: RunningStage, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    urls = {"HTTP_URL": stage.where["http_url"], "WS_URL": stage.where["websocket_url"]}
    command = [sys.executable, "-m", *arguments]
    environ = {**os.environ, **urls, **variables}
    return subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, timeout=110)


def result(folder: Path) -> dict[str, Any]:
    (path,) = folder.glob("*.json")
    found: dict[str, Any] = json.loads(path.read_text())["phases"][0]
    return found


def load(stage: RunningStage, folder: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return run(stage, "loadtest.load", "--results", str(folder), *arguments, **variables)


@pytest.mark.parametrize("issuer", ["Cognito", "local stage"])
def test_one_producer_sends_for_a_hundred_thousand_users(
    platform: RunningStage, pool: Cognito, tmp_path: Path, issuer: str
) -> None:
    variables = {"TOKEN_URL": pool.url, "CLIENT_ID": CLIENT, "CLIENT_SECRET": SECRET}
    if issuer == "local stage":
        secret = platform.where["token_url"].partition("secret=")[2]
        variables = {"TOKEN_URL": f"{platform.where['issuer']}/token", "CLIENT_ID": "local", "CLIENT_SECRET": secret}

    done = load(platform, tmp_path, "--shape", "baseline", "--scale", "0.0004", **variables)

    assert done.returncode == 0, done.stdout + done.stderr
    phase = result(tmp_path)
    assert (phase["sent"]["accepted"], phase["found"]["stored"], phase["found"]["unexpected"]) == (200, 200, 0)
    assert len(pool.requests) <= 3  # for the command and for Locust, however many users there are


@pytest.mark.long
def test_a_token_that_expires_and_cannot_be_replaced_ends_the_run_with_a_partial_report(
    platform: RunningStage, tmp_path: Path
) -> None:
    token = platform.token("importer", "events:write", "chat:read", ttl=5 * SHORT)

    done = load(platform, tmp_path, "--shape", "endurance", "--scale", "0.05", "--seconds", "60", TOKEN=token)

    assert done.returncode == 1
    assert result(tmp_path)["sent"]["accepted"] > 0
    (path,) = tmp_path.glob("*.json")
    assert json.loads(path.read_text())["partial"] is True
    assert "Partial:" in path.with_suffix(".html").read_text()
    assert "partial: the run did not reach its end" in done.stdout
