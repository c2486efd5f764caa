"""The cache: bytes under keys for a while. It may be away, or emptied, at any time, and must cost little then.

Nothing is true because it is in the cache, and nothing is lost with it (P10). A failed call marks the cache away for
5 s; until then every call raises at once, so that a request pays for an absent cache once, and less than 0.25 s.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from headrace.core.errors import CacheUnavailable
from headrace.core.times import Clock, SystemClock
from headrace.runtime.settings import CacheSettings

if TYPE_CHECKING:
    from redis import Redis
    from redis.cluster import RedisCluster

AWAY_SECONDS = 5.0
CALL_SECONDS = 0.1
"""For a connection, and again for an answer."""

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


class RedisCache:
    """A :class:`Cache` in Redis or Valkey: one round trip per call, however many keys.

    Commands go one key each through a pipeline, so that no two keys need be in one slot of a cluster. ElastiCache
    Serverless answers a plain client from its one endpoint; should an endpoint point elsewhere (MOVED) instead, a
    cluster client takes over, which costs more per call.
    """

    def __init__(
        self,
        connect: Callable[[], Redis],
        connect_cluster: Callable[[], RedisCluster] | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._connect: Callable[[], Redis | RedisCluster] = connect
        self._connect_cluster = connect_cluster
        self._monotonic = monotonic
        self._client: Redis | RedisCluster | None = None
        self._away_until = float("-inf")

    @classmethod
    def of(cls, settings: CacheSettings) -> RedisCache:
        """The cache that ``settings`` name; it connects, and imports the client's library, on first use."""
        return cls(lambda: connect(settings, CALL_SECONDS), lambda: connect_cluster(settings, CALL_SECONDS))

    def get_many(self, keys: Sequence[str]) -> list[bytes | None]:
        """One value per key, in order."""
        return self.run([("GET", key) for key in keys])

    def set(self, key: str, value: bytes, seconds: float, *, only_new: bool = False) -> bool:
        """Keep ``value``."""
        command: Command = ("SET", key, value, "PX", _milliseconds(seconds))
        return self.run([(*command, "NX") if only_new else command])[0] is not None

    def set_many(self, entries: Mapping[str, tuple[bytes, float]]) -> None:
        """Keep each value."""
        self.run([("SET", key, value, "PX", _milliseconds(seconds)) for key, (value, seconds) in entries.items()])

    def add_many(self, entries: Mapping[str, tuple[bytes, float]]) -> list[bool]:
        """Keep each value where there is none."""
        answers = self.run(
            [("SET", key, value, "PX", _milliseconds(seconds), "NX") for key, (value, seconds) in entries.items()]
        )
        return [answer is not None for answer in answers]

    def delete_many(self, keys: Sequence[str]) -> None:
        """Forget what is under ``keys``."""
        self.run([("DEL", key) for key in keys])

    def run(self, commands: Sequence[Command]) -> list[Any]:
        """The answers to ``commands``, each on one key, sent together.

        Raises:
            CacheUnavailable: no answer in time, now or less than 5 s ago.
        """
        if not commands:
            return []
        if self._monotonic() < self._away_until:
            raise CacheUnavailable("the cache is away")
        try:
            return self._run(commands)
        except Exception as error:
            self._away_until = self._monotonic() + AWAY_SECONDS
            raise CacheUnavailable(f"the cache does not answer: {type(error).__name__}") from error

    def _run(self, commands: Sequence[Command]) -> list[Any]:
        from redis.exceptions import MovedError

        try:
            return self._send(commands)
        except MovedError:
            if self._connect_cluster is None or self._connect is self._connect_cluster:
                raise
            self._connect, self._client = self._connect_cluster, None
            return self._send(commands)

    def _send(self, commands: Sequence[Command]) -> list[Any]:
        if self._client is None:
            self._client = self._connect()
        pipeline = self._client.pipeline(transaction=False)
        for command in commands:
            pipeline.execute_command(*command)
        return list(pipeline.execute())


class MemoryCache:
    """A :class:`Cache` in memory, for tests. ``down``: it is away. ``calls`` counts round trips."""

    def __init__(self, clock: Clock | None = None) -> None:
        self.down = False
        self.calls = 0
        self._clock = clock or SystemClock()
        self._entries: dict[str, tuple[bytes, int]] = {}

    def get_many(self, keys: Sequence[str]) -> list[bytes | None]:
        """One value per key, in order."""
        self._call()
        return [self._get(key) for key in keys]

    def set(self, key: str, value: bytes, seconds: float, *, only_new: bool = False) -> bool:
        """Keep ``value``."""
        self._call()
        if only_new and self._get(key) is not None:
            return False
        self._entries[key] = (value, self._clock.now() + _milliseconds(seconds) * 1000)
        return True

    def set_many(self, entries: Mapping[str, tuple[bytes, float]]) -> None:
        """Keep each value."""
        self._call()
        for key, (value, seconds) in entries.items():
            self._entries[key] = (value, self._clock.now() + _milliseconds(seconds) * 1000)

    def add_many(self, entries: Mapping[str, tuple[bytes, float]]) -> list[bool]:
        """Keep each value where there is none."""
        self._call()
        added = []
        for key, (value, seconds) in entries.items():
            added.append(self._get(key) is None)
            if added[-1]:
                self._entries[key] = (value, self._clock.now() + _milliseconds(seconds) * 1000)
        return added

    def delete_many(self, keys: Sequence[str]) -> None:
        """Forget what is under ``keys``."""
        self._call()
        for key in keys:
            self._entries.pop(key, None)

    def clear(self) -> None:
        """Lose everything, as a cache may."""
        self._entries.clear()

    def _call(self) -> None:
        if self.down:
            raise CacheUnavailable("the cache is away")
        self.calls += 1

    def _get(self, key: str) -> bytes | None:
        value, expires = self._entries.get(key, (None, 0))
        return value if expires > self._clock.now() else None


def _milliseconds(seconds: float) -> int:
    return max(1, int(seconds * 1000))


def _options(settings: CacheSettings, seconds: float) -> dict[str, Any]:
    from redis.backoff import NoBackoff
    from redis.retry import Retry

    host, _, port = settings.cache_endpoint.rpartition(":")
    # The library's own retries would take seconds when the cache is away (design, fault 17).
    return {
        "host": host,
        "port": int(port),
        "ssl": settings.cache_tls,
        "socket_timeout": seconds,
        "socket_connect_timeout": seconds,
        "retry": Retry(NoBackoff(), 0),
    }


def connect(settings: CacheSettings, seconds: float) -> Redis:
    """A client that gives up after ``seconds``, once for the connection and once for the answer."""
    from redis import Redis

    return Redis(**_options(settings, seconds))


def connect_cluster(settings: CacheSettings, seconds: float) -> RedisCluster:
    """The same for a cluster whose nodes answer for themselves."""
    from redis.cluster import RedisCluster

    return RedisCluster(**_options(settings, seconds))
