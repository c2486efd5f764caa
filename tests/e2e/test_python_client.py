"""The Python client and its command line on a whole stage, installed from its archives as its README says."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

import pytest

from tests.e2e.clients import PATIENCE, Client, unique, until
from tests.e2e.conftest import ROOT, RunningStage

FOLDER = ROOT / "clients" / "python"
UV = Path(sys.executable).with_name("uv")
pytestmark = pytest.mark.timeout(300)
"""The first test also waits for the new environment."""
SNIPPETS = re.findall(r"^```python\n(.*?)^```", (FOLDER / "README.md").read_text(), re.M | re.S)


def run(*command: str | Path, environ: dict[str, str] | None = None, folder: Path = ROOT) -> str:
    """What a command prints; the test fails with it if the command does."""
    done = subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def installed(packages: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of a new environment, where pip installed the client and its command line without an index."""
    folder = tmp_path_factory.mktemp("client")
    run(UV, "venv", "--seed", "--python", sys.executable, folder / "new")
    (wheel,), (source,) = packages.glob("*.whl"), packages.glob("*.tar.gz")
    print(f"headrace-client: wheel {wheel.stat().st_size:,} bytes, sdist {source.stat().st_size:,} bytes")
    locked = re.findall(r"^[\w.-]+==\S+", (ROOT / "requirements" / "dev.txt").read_text(), re.M)
    (folder / "versions.txt").write_text("\n".join(locked))
    pip = (folder / "new" / "bin" / "python", "-m", "pip", "--disable-pip-version-check")
    run(*pip, "download", "-d", folder / "wheels", "-c", folder / "versions.txt", f"{wheel}[cli]")
    run(*pip, "install", "--no-index", "--find-links", folder / "wheels", "headrace-client[cli]")
    assert list((folder / "new").rglob("headrace_client-*.dist-info/licenses/LICENSE"))
    return folder / "new" / "bin"


@pytest.fixture(scope="module")
def lobby(platform: RunningStage) -> None:
    """The room of the snippets. It exists from its first message on."""
    alice = Client(platform, "alice")
    assert alice.http("POST", "/rooms/lobby/messages", {"message": "hello"})[0] == 202
    alice.wait_for("lobby", 1)


@pytest.fixture
def environ(platform: RunningStage, installed: Path, lobby: None) -> dict[str, str]:
    """The variables that ``make -s env`` sets, and no path to the clone."""
    found = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    token = platform.token("alice", "chat:read", "chat:write", "analytics:read", "ops")
    where = platform.where
    found |= {"HEADRACE": where["http_url"], "WS": where["websocket_url"], "TOKEN": token}
    secret = where["token_url"].partition("secret=")[2]
    return {**found, "ISSUER": where["issuer"], "CLIENT_ID": "local", "CLIENT_SECRET": secret}


@pytest.mark.parametrize("snippet", SNIPPETS, ids=lambda code: re.findall(r"import (\w+)\n", code)[-1])
def test_each_snippet_of_the_readme_runs_where_only_the_package_is_installed(
    snippet: str, environ: dict[str, str], installed: Path, tmp_path: Path
) -> None:
    printed = run(installed / "python", "-W", "error", "-c", snippet, environ=environ, folder=tmp_path)

    assert re.search(r"main|hello|dinner", printed) or "logging" in snippet


def test_a_person_signs_in_once_and_then_works_with_a_profile(
    platform: RunningStage, environ: dict[str, str], installed: Path, tmp_path: Path
) -> None:
    profile = platform.command("env", "--user", "alice", "--profile").stdout
    (tmp_path / "headrace").mkdir()
    (tmp_path / "headrace" / "profiles.toml").write_text(f'{profile}redirect_url = "http://localhost:0/callback"\n')
    there = {**environ, "XDG_CONFIG_HOME": str(tmp_path), "HEADRACE_PROFILE": "local", "TOKEN": "", "HEADRACE": ""}
    room, shell = unique("room"), installed / "headrace"
    signing_in = subprocess.Popen(
        [shell, "login", "--no-browser", "--json"],
        env=there,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert signing_in.stderr is not None
    page = signing_in.stderr.readline().removeprefix("Sign in at ").strip()
    with urlopen(page, timeout=PATIENCE) as shown:
        assert b"chat:read" in shown.read()
    with urlopen(page, b"user=carol", timeout=PATIENCE) as shown:
        assert b"You are signed in" in shown.read()

    assert json.loads(signing_in.communicate(timeout=PATIENCE)[0]) == {"profile": "local", "user": "carol"}
    assert json.loads(run(shell, "send", room, "hello", "--json", environ=there))["lane"] == "main"
    until(lambda: run(shell, "history", room, environ=there), lambda printed: "carol" in printed)
    run(shell, "logout", environ=there)
    assert not list((tmp_path / "headrace" / "tokens").iterdir())
