"""Ports of the cache: values by key, and single commands."""

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
        """Store ``value`` for ``seconds``; with ``only_new`` only if there is none. Returns whether it was stored."""
        ...

    def set_many(self, entries: Mapping[str, tuple[bytes, float]]) -> None:
        """Store each value for its seconds."""
        ...

    def add_many(self, entries: Mapping[str, tuple[bytes, float]]) -> list[bool]:
        """Store each value for its seconds, only if its key has no value. Returns which were stored, in order.

        Of several concurrent callers one succeeds.
        """
        ...

    def delete_many(self, keys: Sequence[str]) -> None:
        """Delete the values of ``keys``."""
        ...


class Commands(Protocol):
    """Runs commands of Redis, for data structures and scripts that :class:`Cache` does not cover."""

    def run(self, commands: Sequence[Command]) -> list[Any]:
        """The results of ``commands``, in order. Each is on one key; they are sent in one round trip.

        Raises:
            headrace.core.errors.CacheUnavailable: no answer in time.
        """
        ...


def milliseconds(seconds: float) -> int:
    """``seconds`` as an expiry time of Redis, which is at least 1 ms."""
    return max(1, int(seconds * 1000))
