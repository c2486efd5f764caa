"""Sums of request durations over all environments, in one hash of the cache, for ``GET /statistics``.

Each environment adds its sums to the cache at most once a second, in the background. A request waits for this at most
5 ms. The last sums of an environment that ends are lost. When the cache is emptied, the sums start from zero; ``since``
says when.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from headrace.core import times
from headrace.core.errors import CacheUnavailable
from headrace.core.times import SystemClock
from headrace.runtime.observability import report
from headrace.runtime.threads import Background
from headrace.storage.redis import Cache

KEY = "latencies"
KEPT_SECONDS = 7 * 24 * 3600
EVERY_SECONDS = 1.0
WAIT_SECONDS = 0.005

_SCRIPT = """
redis.call('HSETNX', KEYS[1], 'since', ARGV[1])
for at = 3, #ARGV, 4 do
  local route = ARGV[at]
  redis.call('HINCRBY', KEYS[1], 'n ' .. route, ARGV[at + 1])
  redis.call('HINCRBY', KEYS[1], 's ' .. route, ARGV[at + 2])
  local longest = redis.call('HGET', KEYS[1], 'm ' .. route)
  if not longest or tonumber(longest) < tonumber(ARGV[at + 3]) then
    redis.call('HSET', KEYS[1], 'm ' .. route, ARGV[at + 3])
  end
end
redis.call('EXPIRE', KEYS[1], ARGV[2])
return 1
"""


class RequestTimes:
    """Publishes the durations of this environment's requests, and reads the sums of all environments."""

    def __init__(self, cache: Cache, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._cache = cache
        self._sums: dict[str, tuple[int, int, int]] = {}
        """By route: the number of requests, the sum of their microseconds, and those of the longest one."""
        self._lock = threading.Lock()
        self._background = Background("latencies", EVERY_SECONDS, WAIT_SECONDS, monotonic)

    def add(self, route: str, seconds: float) -> None:
        """Count a request of ``route`` that took ``seconds``. Never raises."""
        micros = round(seconds * times.SECOND)
        with self._lock:
            count, total, longest = self._sums.get(route, (0, 0, 0))
            self._sums[route] = (count + 1, total + micros, max(longest, micros))
        self._background.run(self._publish)

    def read(self) -> dict[str, Any]:
        """``{"endpointStats": [{"URL", "operation", "mean", "max"}], "since"}``; times in milliseconds.

        Raises:
            CacheUnavailable: the cache did not answer.
        """
        (found,) = self._cache.run([("HGETALL", KEY)])
        fields = {name.decode(): value.decode() for name, value in found.items()}
        routes = sorted((name[2:] for name in fields if name.startswith("n ")), key=lambda each: each.split()[::-1])
        return {"endpointStats": [_stats(route, fields) for route in routes], "since": fields.get("since")}

    def _publish(self) -> None:
        with self._lock:
            sums, self._sums = self._sums, {}
        arguments = [value for route, numbers in sums.items() for value in (route, *numbers)]
        try:
            self._cache.run([("EVAL", _SCRIPT, 1, KEY, times.iso(SystemClock().now()), KEPT_SECONDS, *arguments)])
        except CacheUnavailable as error:
            report("latencies", f"the durations of some requests are not counted: {error.message}")


def _stats(route: str, fields: Mapping[str, str]) -> dict[str, Any]:
    operation, url = route.split(" ", 1)
    count, total, longest = (int(fields.get(f"{kind} {route}", 0)) for kind in "nsm")
    return {
        "URL": url,
        "operation": operation,
        "mean": round(total / max(count, 1) / 1000, 3),
        "max": round(longest / 1000, 3),
    }
