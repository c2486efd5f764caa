"""The client of the cache: short timeouts, no retries. The cache may be away at any time, and must cost little then."""

from __future__ import annotations

from redis import Redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from headrace.settings import CacheSettings


def connect(settings: CacheSettings, seconds: float) -> Redis:
    """A client that gives up after ``seconds``, once for the connection and once for the answer."""
    host, _, port = settings.cache_endpoint.rpartition(":")
    # The library's own retries would take seconds when the cache is away (design, fault 17).
    return Redis(
        host=host,
        port=int(port),
        ssl=settings.cache_tls,
        socket_timeout=seconds,
        socket_connect_timeout=seconds,
        retry=Retry(NoBackoff(), 0),
    )
