"""The cache in Redis or Valkey, on one node or in a cluster."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import unquote, urlsplit

from headrace.core.errors import CacheUnavailable
from headrace.core.urls import LOOPBACK
from headrace.runtime.breaker import Cooldown
from headrace.runtime.observability import Meter
from headrace.runtime.settings import CacheSettings

if TYPE_CHECKING:
    from redis import Redis
    from redis.cluster import RedisCluster
    from redis.connection import ConnectionPool

Command = tuple[Any, ...]
CALL_SECONDS = 0.1
"""The timeout for a connection, and again for each response."""


class Cache:
    """Bytes by key in Redis or Valkey, and other commands: one round trip per call, for any number of keys.

    Methods may raise :class:`~headrace.core.errors.CacheUnavailable`. For 5 s after a failed call, each does at once.
    Each command of the pipeline has one key, so that keys may be in different slots of a cluster. ElastiCache
    Serverless serves a plain client from one endpoint. AWS does not confirm that for every case, so an endpoint that
    redirects (MOVED) gets a cluster client instead, which costs more per call.
    """

    def __init__(
        self,
        connect: Callable[[], Redis],
        connect_cluster: Callable[[], RedisCluster] | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._connect: Callable[[], Redis | RedisCluster] = connect
        self._connect_cluster = connect_cluster
        self._client: Redis | RedisCluster | None = None
        self._idle: deque[Any] = deque()
        self._cooldown = Cooldown(monotonic)

    @classmethod
    def of(cls, settings: CacheSettings) -> Cache:
        """The cache of ``settings``. It connects, and imports the client library, on first use."""
        return cls(lambda: connect(settings, CALL_SECONDS), lambda: connect_cluster(settings, CALL_SECONDS))

    def get_many(self, keys: Sequence[str]) -> list[bytes | None]:
        """One value per key, in order; ``None`` where there is none."""
        return self.run([("GET", key) for key in keys])

    def set_many(self, entries: Mapping[str, tuple[bytes, float]]) -> None:
        """Store each value for its seconds."""
        self.run([("SET", key, value, "PX", milliseconds(seconds)) for key, (value, seconds) in entries.items()])

    def add_many(self, entries: Mapping[str, tuple[bytes, float]]) -> list[bool]:
        """Store each value for its seconds, only if its key has no value. Returns which were stored, in order.

        Of several concurrent callers one succeeds.
        """
        answers = self.run(
            [("SET", key, value, "PX", milliseconds(seconds), "NX") for key, (value, seconds) in entries.items()]
        )
        return [answer is not None for answer in answers]

    def run(self, commands: Sequence[Command]) -> list[Any]:
        """The results of ``commands``, in order. Each is on one key."""
        if not commands:
            return []
        if self._cooldown.is_active:
            raise CacheUnavailable("the cache is unavailable")
        try:
            return self._run(commands)
        except Exception as error:
            self._cooldown.start()
            meter = Meter()
            meter.count("CacheUnavailable")
            meter.flush()
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
        if self._connect is not self._connect_cluster:
            return self._exchange(commands, cast("Redis", self._client).connection_pool)
        pipeline = self._client.pipeline(transaction=False)
        for command in commands:
            pipeline.execute_command(*command)
        return list(pipeline.execute())

    def _exchange(self, commands: Sequence[Command], pool: ConnectionPool) -> list[Any]:
        """What a pipeline does. The library's own pipelines, pool and encoder take twice the CPU of all the rest."""
        try:
            connection = self._idle.pop()
        except IndexError:
            connection = pool.make_connection()
        try:
            connection.connect()
            if _is_stale(connection):
                connection.disconnect()
            connection.send_packed_command([_encoded(commands)])
            return [connection.read_response() for _ in commands]
        except BaseException:
            connection.disconnect()  # answers may be left; the next use connects again
            raise
        finally:
            self._idle.append(connection)


def _is_stale(connection: Any) -> bool:
    """Whether the other side has closed an idle connection."""
    try:
        return bool(connection.can_read())
    except Exception:  # noqa: BLE001 - the library's errors, which is imported on first use
        return True


def _encoded(commands: Sequence[Command]) -> bytes:
    """``commands`` in the protocol of Redis."""
    parts: list[bytes] = []
    for command in commands:
        parts.append(b"*%d\r\n" % len(command))
        for argument in command:
            text = argument if isinstance(argument, bytes) else str(argument).encode()
            parts.append(b"$%d\r\n%b\r\n" % (len(text), text))
    return b"".join(parts)


def _options(settings: CacheSettings, seconds: float) -> dict[str, Any]:
    from redis.backoff import NoBackoff
    from redis.retry import Retry

    endpoint = urlsplit(f"//{settings.cache_endpoint}")
    # Without the library's retries, which would take seconds while the cache is unavailable.
    return {
        "host": endpoint.hostname,
        "port": endpoint.port,
        "username": unquote(endpoint.username or "") or None,
        "password": unquote(endpoint.password or "") or None,
        "ssl": endpoint.hostname not in LOOPBACK,
        "protocol": 3,
        "socket_timeout": seconds,
        "socket_connect_timeout": seconds,
        "retry": Retry(NoBackoff(), 0),
    }


def connect(settings: CacheSettings, seconds: float) -> Redis:
    """A client with a timeout of ``seconds`` for the connection and for each response."""
    from redis import Redis

    return Redis(**_options(settings, seconds))


def connect_cluster(settings: CacheSettings, seconds: float) -> RedisCluster:
    """The same for a cluster whose clients talk to each node."""
    from redis.cluster import RedisCluster

    return RedisCluster(**_options(settings, seconds))


def milliseconds(seconds: float) -> int:
    """``seconds`` as an expiry time of Redis, which is at least 1 ms."""
    return max(1, int(seconds * 1000))
