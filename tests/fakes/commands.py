"""The commands of a cache that limits and the status of breakers use, in memory."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from headrace.core.errors import CacheUnavailable


class MemoryCommands:
    """Hashes, sets and counts without expiry. ``down``: the cache is unavailable. ``calls`` counts round trips."""

    def __init__(self) -> None:
        self.down = False
        self.calls = 0
        self._sets: defaultdict[str, set[bytes]] = defaultdict(set)
        self._hashes: defaultdict[str, dict[bytes, bytes]] = defaultdict(dict)

    def lose(self) -> None:
        """Lose all data."""
        self._sets.clear()
        self._hashes.clear()

    def run(self, commands: Sequence[tuple[Any, ...]]) -> list[Any]:
        """The answers to ``commands``."""
        if self.down:
            raise CacheUnavailable("the cache is unavailable")
        self.calls += 1
        return [self._run(*command) for command in commands]

    def _run(self, name: str, key: str, *arguments: Any) -> Any:
        fields = self._hashes[key]
        if name == "HGETALL":
            return dict(fields)
        if name == "EXPIRE":
            return 1
        if name == "HDEL":
            return len([fields.pop(each, None) for each in arguments])
        if name in ("SADD", "SCARD", "SMEMBERS"):
            members = self._sets[key]
            members.update(str(each).encode() for each in arguments)
            return set(members) if name == "SMEMBERS" else len(members)
        if name == "INCR":
            arguments = (name, 1)
        field, value = (str(each).encode() for each in arguments)
        if name == "HSET":
            fields[field] = value
            return 1
        fields[field] = str(int(fields.get(field, b"0")) + int(value)).encode()
        return int(fields[field])
