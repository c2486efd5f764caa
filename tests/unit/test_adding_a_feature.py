"""A further feature, added as docs/how-to/add-a-feature.md shows: pins of messages, in a copy of the code."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.template_stack import ROOT

PAGE = (ROOT / "docs" / "how-to" / "add-a-feature.md").read_text()
MODULES = dict(re.findall(r"^<!-- file: (\S+) -->\n```python\n(.*?)^```$", PAGE, re.M | re.S))
DIFFS = re.findall(r"^```diff\n(.*?)^```$", PAGE, re.M | re.S)
PATHS = ("layers", "functions", "tests", "tools", "docs", "template.yaml", "pyproject.toml")


def left_out(folder: str, names: list[str]) -> set[str]:
    """What is not copied. Other test processes write bytecode meanwhile."""
    return {*names} - {*PATHS} if Path(folder) == ROOT else {"__pycache__"}


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the code whose owner has followed the page."""
    clone = tmp_path_factory.mktemp("clone")
    shutil.copytree(ROOT, clone, ignore=left_out, dirs_exist_ok=True)
    for name, text in MODULES.items():
        (clone / name).parent.mkdir(exist_ok=True)
        (clone / name).write_text(text)
    for diff in DIFFS:
        subprocess.run(["git", "apply", "-p0"], cwd=clone, input=diff, text=True, check=True)
    return clone


def run(clone: Path, *arguments: str) -> str:
    """What Python prints in the clone."""
    path = os.pathsep.join(map(str, (clone / "layers" / "headrace", clone, ROOT, ROOT / "clients" / "python")))
    environ = {"PATH": os.environ["PATH"], "PYTHONPATH": path, "AWS_DEFAULT_REGION": "us-east-1"}
    environ |= {"ROOMS_TABLE": "Rooms", "MEMBERSHIPS_TABLE": "Memberships", "CHAT_MESSAGES_TABLE": "Messages"}
    # With a proxy, all calls take boto3's way, where moto answers them. The cache is not asked.
    environ |= {"HTTPS_PROXY": "http://localhost:9", "CACHE_ENDPOINT": "localhost:9"}
    environ |= {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret"}
    command = [sys.executable, *arguments]
    done = subprocess.run(command, cwd=clone, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_feature_of_the_page_pins_messages(clone: Path) -> None:
    out = run(clone, "-c", "from tests.contract.pins_world import play; play()")

    assert json.loads(out.splitlines()[-1]) == {
        "by an owner": [202, "pinnedAt", "message.pinned"],
        "by a member": [403, "pinnedAt", ""],
        "taken back": [202, "", "message.pinned"],
        "before the message": [202, "pinnedAt", ""],
        "exported": ["pins"] * 3,
        "erased": [["pins", 3]],
    }


def test_nothing_of_the_feature_is_left_when_it_is_left_out(clone: Path) -> None:
    out = run(clone, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/unit/test_features.py", "-k", "pins")

    assert "1 passed" in out


def test_a_feature_changes_at_most_three_modules_of_others() -> None:
    changed = {path for diff in DIFFS for path in re.findall(r"^--- (\S+)$", diff, re.M)}

    assert len([path for path in changed if path.startswith(("layers/", "functions/"))]) <= 3
