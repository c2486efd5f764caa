"""Finds the URLs of the running local stage."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class StageUrls:
    """The URLs of a local stage that runs, the id of its process and the folder of its data."""

    http_url: str
    websocket_url: str
    token_url: str
    pid: int = field(default=0, compare=False)
    folder: Path = field(default=Path(), compare=False)


def stage_file() -> Path:
    """The file that a running stage writes its URLs to, in ``LOCALSTAGE_STATE_DIR`` or else ``.local``."""
    return ROOT / (os.environ.get("LOCALSTAGE_STATE_DIR") or ".local") / "stage.json"


def running_stage(path: Path | None = None) -> StageUrls | None:
    """The stage that wrote ``path`` (default: :func:`stage_file`), or None if its process has ended."""
    path = path or stage_file()
    try:
        state = json.loads(path.read_text(encoding="utf-8"))
        pid = int(state["pid"])
        os.kill(pid, 0)
        return StageUrls(state["http_url"], state["websocket_url"], state["token_url"], pid, path.parent)
    except (OSError, ValueError, KeyError):
        return None
