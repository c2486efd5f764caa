"""Finds the running local stage."""

from __future__ import annotations

import json
import os
from pathlib import Path

from localstage.core.statefile import Running

ROOT = Path(__file__).resolve().parents[2]


def stage_file() -> Path:
    """The file that a running stage writes its URLs to, in ``LOCALSTAGE_STATE_DIR`` or else ``.local``."""
    return ROOT / (os.environ.get("LOCALSTAGE_STATE_DIR") or ".local") / "stage.json"


def running_stage(path: Path | None = None) -> Running | None:
    """The stage that wrote ``path`` (default: :func:`stage_file`), or None if its process has ended."""
    try:
        running = Running(**json.loads((path or stage_file()).read_text(encoding="utf-8")))
        os.kill(running.pid, 0)
    except (OSError, ValueError, TypeError):
        return None
    return running
