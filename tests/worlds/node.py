"""Runs a program in the Node of the stage."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from localstage.services.install import node_program


def node(*arguments: object, folder: Path | None = None, given: str = "", seconds: int = 280, **more: str) -> str:
    """What Node prints, with this input, and ``more`` in its environment; the test fails with it if Node does."""
    command = [node_program(), *map(str, arguments)]
    environ = {**os.environ, **more}
    run = subprocess.run(
        command, cwd=folder, env=environ, input=given, capture_output=True, text=True, timeout=seconds, check=False
    )
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout
