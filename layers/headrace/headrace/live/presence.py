"""When each connection sent its last check, which the cache keeps."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.core import times
from headrace.core.errors import CacheUnavailable
from headrace.live.connections import CONNECTION_SECONDS, GRACE_SECONDS
from headrace.runtime.observability import report
from headrace.storage.redis import Cache


class LastChecks:
    """Times of checks, kept for as long as a connection can last. Without the cache they are unknown."""

    def __init__(self, cache: Cache) -> None:
        self._cache = cache

    def checked(self, connection_id: str, now: int) -> None:
        """Note a check at ``now`` (microseconds)."""
        at = times.iso(now).encode()
        try:
            self._cache.set_many({_key(connection_id): (at, CONNECTION_SECONDS + GRACE_SECONDS)})
        except CacheUnavailable as error:
            report("last checks", f"the time of a check is not kept: {error.message}")

    def of(self, connection_ids: Sequence[str]) -> dict[str, str] | None:
        """The canonical time of each connection's last check, if it has sent one; ``None`` without the cache."""
        try:
            found = self._cache.get_many([_key(each) for each in connection_ids])
        except CacheUnavailable:
            return None
        return {each: at.decode() for each, at in zip(connection_ids, found, strict=True) if at is not None}


def _key(connection_id: str) -> str:
    return f"checked:{connection_id}"
