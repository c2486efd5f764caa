"""One short line for a failing function, not one per failure."""

from __future__ import annotations

import logging
import time

_log = logging.getLogger("localstage.functions")

_QUIET = 5.0


class Complaints:
    """Logs the first failure of a kind at once, and then at most one line in five seconds with a count."""

    def __init__(self) -> None:
        self._last: dict[tuple[str, str], tuple[float, int]] = {}

    def add(self, function_id: str, kind: str) -> None:
        """Note that ``function_id`` failed with an error of ``kind``; its message stays in the function's log."""
        now = time.monotonic()
        known = self._last.get((function_id, kind))
        if known is None:
            self._last[function_id, kind] = (now, 0)
            self._say(function_id, kind)
        else:
            self._last[function_id, kind] = (known[0], known[1] + 1)

    def flush(self) -> None:
        """Say what was held back for long enough. Called about once a second."""
        now = time.monotonic()
        for (function_id, kind), (since, held) in list(self._last.items()):
            if now - since < _QUIET:
                continue
            if held:
                self._last[function_id, kind] = (now, 0)
                self._say(function_id, kind, f", {held} more times" if held > 1 else " again")
            else:
                del self._last[function_id, kind]

    def _say(self, function_id: str, kind: str, more: str = "") -> None:
        _log.warning("%s failed: %s%s (python -m localstage logs %s)", function_id, kind, more, function_id)
