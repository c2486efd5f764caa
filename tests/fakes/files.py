"""The bucket of attachments in memory."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from headrace.streams.chat.attachments.store import Attachments, Found
from tests.fakes.storage import MemoryObjects

PNG = b"\x89PNG\r\n\x1a\n and the rest of an image"


LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)


class MemoryFiles(MemoryObjects):
    """Files with types and states; they are uploaded by :meth:`put`."""

    def __init__(self) -> None:
        super().__init__()
        self.types: dict[str, str] = {}
        self.states: dict[str, str] = {}

    def put(self, name: str, body: bytes = PNG, type: str = "image/png", at: datetime = LONG_AGO) -> None:
        """Upload a file."""
        self.write(name, body)
        self.types[name], self.states[name], self.written_at[name] = type, "unnamed", at

    def look(self, name: str, count: int) -> Found | None:
        self._count()
        if name not in self.objects:
            return None
        body = self.objects[name]
        return Found(body[:count], len(body), self.types[name], self.states.get(name))

    def set_state(self, name: str, state: str | None) -> bool:
        self._count()
        if name in self.objects:
            self.states.pop(name, None)
            if state is not None:
                self.states[name] = state
        return name in self.objects

    def upload(self, name: str, type: str, bytes: int, state: str, seconds: int) -> tuple[str, Mapping[str, str]]:
        return f"https://files.test/{name}?bytes={bytes}&for={seconds}", {"Content-Type": type, "state": state}


def memory_attachments(files: MemoryFiles | None = None) -> Attachments:
    """The attachments of a bucket in memory; without ``files``, of an empty one."""
    bucket = files or MemoryFiles()
    return Attachments(lambda: bucket)


NO_FILES = memory_attachments()
"""The attachments of an empty bucket."""
