"""The cache that the platform needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

Command = tuple[Any, ...]


class Cache(Protocol):
    """Bytes by key. Every method may raise :class:`~headrace.core.errors.CacheUnavailable`."""

    def get_many(self, keys: Sequence[str]) -> list[bytes | None]:
        """One value per key, in order; ``None`` where there is none."""
        ...

    def set(self, key: str, value: bytes, seconds: float, *, only_new: bool = False) -> bool:
        """Keep ``value`` for ``seconds``; with ``only_new`` not over another one. Whether it was kept."""
        ...

    def set_many(self, entries: Mapping[str, tuple[bytes, float]]) -> None:
        """Keep each value for its seconds."""
        ...

    def add_many(self, entries: Mapping[str, tuple[bytes, float]]) -> list[bool]:
        """Keep each value for its seconds, but not over another one: which were kept, in order. One of several
        callers at the same time succeeds."""
        ...

    def delete_many(self, keys: Sequence[str]) -> None:
        """Forget what is under ``keys``."""
        ...


def milliseconds(seconds: float) -> int:
    return max(1, int(seconds * 1000))
