"""Finds the URLs of the running local stage."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class StageUrls:
    """The URLs of a local stage that runs."""

    http_url: str
    websocket_url: str
    token_url: str


def stage_file() -> Path:
    """The file that a running stage writes its URLs to, in ``LOCALSTAGE_STATE_DIR`` or else ``.local``."""
    return ROOT / (os.environ.get("LOCALSTAGE_STATE_DIR") or ".local") / "stage.json"


def running_stage(path: Path | None = None) -> StageUrls | None:
    """The stage that wrote ``path`` (default: :func:`stage_file`), or None if its process has ended."""
    try:
        state = json.loads((path or stage_file()).read_text(encoding="utf-8"))
        os.kill(int(state["pid"]), 0)
        return StageUrls(state["http_url"], state["websocket_url"], state["token_url"])
    except (OSError, ValueError, KeyError):
        return None
