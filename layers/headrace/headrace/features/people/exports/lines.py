"""The lines of an export, and the gzip files that they are written to."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from typing_extensions import TypedDict

from headrace.core.json import encode
from headrace.core.people import Line

MANIFEST = "manifest"
_GZIP = 16 + zlib.MAX_WBITS


class Omitted(TypedDict):
    """Something that is not in an export, and the reason."""

    what: str
    why: str


class Part:
    """A file that is being written. Files of gzip one after the other are a file of gzip too."""

    def __init__(self) -> None:
        self._gzip = zlib.compressobj(wbits=_GZIP)
        self._written = bytearray()
        self.counts: Counter[str] = Counter()

    def add(self, lines: Iterable[Line]) -> None:
        """Write lines."""
        for kind, row in lines:
            self._written += self._gzip.compress(f"{encode({'kind': kind, 'row': _sorted(row)})}\n".encode())
            self.counts[kind] += 1

    @property
    def size(self) -> int:
        """The bytes that are compressed already."""
        return len(self._written)

    def end(self) -> bytes:
        """The whole file."""
        return bytes(self._written + self._gzip.flush())


def _sorted(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row whose sets are in order, so that the same row is the same line."""
    return {name: sorted(value) if isinstance(value, set) else value for name, value in row.items()}
