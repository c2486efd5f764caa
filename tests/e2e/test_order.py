"""Tests do not depend on one another: two files pass in both orders, on a stage that others have used."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.e2e.conftest import ROOT, Stage

FILES = ("tests/e2e/test_dead_letters.py", "tests/e2e/test_operating.py")
"""The first leaves letters in the dead lane, and counts them; the second reads the logs and states of all."""


@pytest.mark.parametrize("files", [FILES, FILES[::-1]], ids=["one order", "the other"])
def test_two_files_pass_in_both_orders(platform: Stage, files: tuple[str, str]) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-m", "not long", "--randomly-dont-reorganize", *files]
    environ = {**platform.environ, "TESTED_STAGE": str(platform.state_dir)}

    done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True)

    assert done.returncode == 0, done.stdout
