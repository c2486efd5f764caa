"""Warnings that may come often, as one line in five seconds."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

QUIET_SECONDS = 5.0


class Reporter:
    """Logs at most one warning in five seconds per kind, and counts those that it left out."""

    def __init__(self, logger: logging.Logger) -> None:
        self._logger = logger
        self._last: dict[str, float] = {}
        self._quiet: dict[str, int] = {}

    def warn(self, kind: str, message: str | Callable[[], str]) -> None:
        """Log ``message`` unless one of this kind was logged in the last five seconds; kinds are a bounded set.

        A function is called for a message that is logged.
        """
        now = time.monotonic()
        last = self._last.get(kind)
        if last is not None and now - last < QUIET_SECONDS:
            self._quiet[kind] = self._quiet.get(kind, 0) + 1
            return
        quiet = self._quiet.pop(kind, 0)
        self._last[kind] = now
        text = message if isinstance(message, str) else message()
        self._logger.warning("%s%s", text, f" ({quiet} more like this)" if quiet else "")
