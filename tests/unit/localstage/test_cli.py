"""The commands `make token`, `make logs` and `make status`."""

from __future__ import annotations

import base64
import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from localstage.cli import cli
from localstage.core.statefile import Running, StateFile

URL = "http://127.0.0.1:1"


def call(folder: Path, *arguments: str) -> Result:
    return CliRunner().invoke(cli, ["--state-dir", str(folder), *arguments])


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Path]:
    """The folder of a stage that runs."""
    state = StateFile(tmp_path)
    state.acquire()
    scopes = ("chat:write", "chat:read", "ops")
    state.write(Running(os.getpid(), URL, URL, URL, URL, f"{URL}/", 0.0, scopes), {})
    yield tmp_path
    state.release()


@pytest.mark.parametrize("scopes", ["chat:write ops", "chat:write,ops"])
def test_scopes_may_be_given_together(stage: Path, scopes: str) -> None:
    token = call(stage, "token", "--user", "alice", "--scope", scopes).output

    claims = token.split(".")[1]
    assert json.loads(base64.urlsafe_b64decode(claims + "=="))["scope"] == "chat:write ops"


def test_a_scope_that_the_template_does_not_have_is_refused(stage: Path) -> None:
    result = call(stage, "token", "--user", "alice", "--scope", "chat:wriet")

    assert result.exit_code == 1
    assert "no such scope: chat:wriet; there are: chat:write, chat:read, ops" in result.output


def test_a_shell_gets_the_addresses_and_a_token(stage: Path) -> None:
    printed = call(stage, "env", "--user", "alice").output

    shell = subprocess.run(["sh", "-c", f"{printed}env"], capture_output=True, text=True, check=True).stdout
    variables = dict(line.split("=", 1) for line in shell.splitlines() if "=" in line)
    assert (variables["HEADRACE"], variables["WS"]) == (URL, URL)
    assert variables["TOKEN"].count(".") == 2


@pytest.mark.parametrize("name", ["ReceiveFrame", "receive_frame"])
def test_a_log_without_a_stage_is_printed_and_called_old(tmp_path: Path, name: str) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "ReceiveFrame.log").write_text("a line\n")

    result = call(tmp_path, "logs", name)

    assert result.stdout == "a line\n"
    assert "no stage runs here" in result.stderr


@pytest.mark.parametrize("command", [("token", "--user", "alice"), ("status",)])
def test_a_command_without_a_stage_says_how_to_start_one(tmp_path: Path, command: tuple[str, ...]) -> None:
    result = call(tmp_path, *command)

    assert result.exit_code == 1
    assert result.output.endswith("start one with: make up\n")


def test_a_second_stage_in_one_folder_is_refused_in_one_sentence(stage: Path) -> None:
    result = call(stage, "up")

    assert result.exit_code == 1
    assert (result.output.count("\n"), URL in result.output) == (1, True)
