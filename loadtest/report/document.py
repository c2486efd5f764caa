"""Finds and reads the JSON of a load run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from loadtest.runs.result import FORMAT
from localstage.client.errors import ClientError

Document = dict[str, Any]


def newest(folder: Path) -> Path:
    """The newest result in ``folder``.

    Raises:
        ClientError: there is none.
    """
    found = sorted(folder.glob("*.json"))  # a name begins with its time
    if not found:
        raise ClientError(f"{folder}: no result of `make load`; run it first, or give RUN=path.json")
    return found[-1]


def read(path: Path) -> Document:
    """The result in ``path``.

    Raises:
        ClientError: it cannot be read, or is not a result of this format.
    """
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        written = found.get("format", 1)
    except (OSError, ValueError, AttributeError):
        raise ClientError(f"{path}: this is not the result of a load run; give the JSON of `make load`") from None
    if written != FORMAT:
        raise ClientError(f"{path}: this result has format {written}, not {FORMAT}; run `make load` again")
    return dict(found)
