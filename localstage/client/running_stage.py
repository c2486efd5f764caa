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
    status_url: str = field(default="", compare=False)
    pid: int = field(default=0, compare=False)
    folder: Path = field(default=Path(), compare=False)
    console_url: str = field(default="", compare=False)


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
        urls = {name: state[name] for name in ("http_url", "websocket_url", "token_url", "status_url")}
        return StageUrls(**urls, pid=pid, folder=path.parent, console_url=state.get("console_url", ""))
    except (OSError, ValueError, KeyError):
        return None
