"""Writes the files that a stage reads again at its next start."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from localstage.core.errors import StageError


def write_atomically(path: Path, text: str) -> None:
    """Write ``text`` to ``path``, readable by the owner only (0600). Readers see either the old or the new text.

    Raises:
        StageError: it cannot be written, for example because the disk is full.
    """
    temporary = ""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        Path(temporary).replace(path)
    except OSError as error:
        if temporary:
            Path(temporary).unlink(missing_ok=True)
        raise StageError(f"{path} cannot be written: {error.strerror}") from None
