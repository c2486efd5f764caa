"""Logs failing functions: one line per function and kind of error in five seconds, with a count."""

from __future__ import annotations

import logging
import time

_log = logging.getLogger("localstage.functions")

_INTERVAL = 5.0
"""Seconds between two lines about the same function and kind of error."""


class FailureLog:
    """Logs the first failure of a kind at once, and then at most one line in five seconds with a count."""

    def __init__(self) -> None:
        self._last: dict[tuple[str, str], tuple[float, int]] = {}

    def add(self, function_id: str, kind: str) -> None:
        """Count a failure of ``function_id``. The error's message is in the function's own log."""
        now = time.monotonic()
        known = self._last.get((function_id, kind))
        if known is None:
            self._last[function_id, kind] = (now, 0)
            self._log(function_id, kind)
        else:
            self._last[function_id, kind] = (known[0], known[1] + 1)

    def flush(self) -> None:
        """Log the failures counted since the last line, where five seconds have passed. Call it about once a second."""
        now = time.monotonic()
        for (function_id, kind), (since, count) in list(self._last.items()):
            if now - since < _INTERVAL:
                continue
            if count:
                self._last[function_id, kind] = (now, 0)
                self._log(function_id, kind, f", {count} more times" if count > 1 else " again")
            else:
                del self._last[function_id, kind]

    def _log(self, function_id: str, kind: str, more: str = "") -> None:
        _log.warning("%s failed: %s%s (make logs FUNCTION=%s)", function_id, kind, more, function_id)
