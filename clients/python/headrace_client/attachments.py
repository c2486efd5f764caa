"""Files beside messages: what is checked before they are sent, and their types."""

from __future__ import annotations

import mimetypes
import os
import re
from pathlib import Path
from typing import NamedTuple

from .types import FileType

MOST = 10
"""So many attachments has a message at most."""
LARGEST = 10_000_000
"""So many bytes has an attachment at most."""
LONGEST_NAME = 128
ANY_TYPE: FileType = "application/octet-stream"
TYPES = frozenset(
    (
        *("image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf", "text/plain", "application/zip"),
        *("audio/mpeg", "audio/ogg", "audio/mp4", "video/mp4", "video/webm", ANY_TYPE),
    )
)
"""The types that the platform takes."""

_NOT_IN_NAMES = re.compile(r"[\x00-\x1f\x7f-\x9f/#\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Controls, also of the direction of writing, and what a name that is not UTF-8 leaves."""
_guessed = mimetypes.MimeTypes()  # without the files of the system, so that a name has one type everywhere
for _ending, _type in {".webp": "image/webp", ".ogg": "audio/ogg", ".oga": "audio/ogg", ".m4a": "audio/mp4"}.items():
    _guessed.add_type(_type, _ending)


class File(NamedTuple):
    """A file to upload."""

    data: bytes
    name: str
    type: FileType


def type_of(name: str) -> FileType:
    """The type of a file with this name; ``application/octet-stream`` for one that the platform does not take."""
    found, encoding = _guessed.guess_type(name, strict=False)
    return found if encoding is None and found in TYPES else ANY_TYPE


def file_of(data: bytes | os.PathLike[str], name: str | None = None, type_: FileType | None = None) -> File:
    """The file to upload, read from its path if ``data`` is one.

    Raises:
        ValueError: it has no name or too long a one, is empty, or is too large.
        OSError: it cannot be read.
    """
    name = name or ("" if isinstance(data, bytes) else _NOT_IN_NAMES.sub("_", Path(data).name))
    if not 1 <= len(name) <= LONGEST_NAME:
        raise ValueError(f"the name of an attachment has 1 to {LONGEST_NAME} characters, not {len(name)}: {name!r}")
    size = len(data) if isinstance(data, bytes) else Path(data).stat().st_size  # a large one is not read
    if size == 0:
        raise ValueError(f"{name} is empty; an attachment has 1 to {LARGEST:,} bytes")
    if size > LARGEST:
        raise ValueError(f"{name} has {size:,} bytes; an attachment has at most {LARGEST:,}")
    return File(data if isinstance(data, bytes) else Path(data).read_bytes(), name, type_ or type_of(name))
