"""The bucket of attachments in memory."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from headrace.features.attachments.s3 import Found, State
from headrace.features.attachments.store import Attachments
from tests.fakes.storage import MemoryObjects

PNG = b"\x89PNG\r\n\x1a\n and the rest of an image"


class MemoryFiles(MemoryObjects):
    """Files with types and states; they are uploaded by :meth:`put`."""

    def __init__(self) -> None:
        super().__init__()
        self.types: dict[str, str] = {}
        self.states: dict[str, str] = {}
        self.owners: dict[str, str] = {}

    def put(self, name: str, body: bytes = PNG, type: str = "image/png", at: datetime | None = None) -> None:
        """Upload a file."""
        self.write(name, body)
        self.types[name], self.states[name], self.written_at[name] = type, "unnamed", at or datetime.now(UTC)

    def look(self, name: str, count: int) -> Found | None:
        self._count()
        if name not in self.objects:
            return None
        body = self.objects[name]
        return Found(body[:count], len(body), self.types[name], self.owners.get(name), self.written_at[name])

    def whole(self, name: str) -> tuple[str, bytes] | None:
        self._count()
        return (self.types[name], self.objects[name]) if name in self.objects else None

    def set_owner(self, name: str, owner: str, state: State) -> bool:
        self._count()
        if name in self.objects:
            self.states[name], self.owners[name] = state, owner
        return name in self.objects

    def upload(self, name: str, type: str, bytes: int, seconds: int) -> tuple[str, Mapping[str, str]]:
        return f"https://files.test/{name}?bytes={bytes}&for={seconds}", {"Content-Type": type}


def memory_attachments(files: MemoryFiles | None = None) -> Attachments:
    """The attachments of a bucket in memory; without ``files``, of an empty one."""
    bucket: Any = files or MemoryFiles()
    return Attachments(lambda: bucket)


NO_FILES = memory_attachments()
"""The attachments of an empty bucket."""
