"""Says in the stage's log why a request is refused with a bare 401, 403 or 404, which clients of AWS must guess."""

from __future__ import annotations

import difflib
import logging
import re
from collections.abc import Callable, Iterable

from localstage.core.model import Throttle
from localstage.gateway.throttle import TokenBucket

PACE = Throttle(rate=0.5, burst=10)
"""Lines per second: a flood of refused requests is a few lines, with the number of those left out."""
SHOWN = 100
"""Characters of a path in a line."""


class Refusals:
    """Writes the reasons of one API's refusals to ``log``."""

    def __init__(self, log: logging.Logger) -> None:
        self._log = log
        self._bucket = TokenBucket(PACE)
        self._left_out = 0

    def say(self, status: int, request: str, reason: str | Callable[[], str]) -> None:
        """Write a line for one refusal of ``request``, such as ``GET /rooms``; ``reason`` is only called for that."""
        if not self._bucket.take():
            self._left_out += 1
            return
        more = f" ({self._left_out} more were refused before)" if self._left_out else ""
        self._left_out = 0
        shown = request if len(request) <= SHOWN else f"{request[:SHOWN]}…"
        why = reason if isinstance(reason, str) else reason()
        self._log.warning("%d for %s: %s%s", status, shown, why, more)


def nearest(method: str, path: str, keys: Iterable[str]) -> str:
    """Why a request has no route, with the route of ``keys`` (``METHOD /path/{param}``) that it may have meant."""
    by_path: dict[str, list[str]] = {}
    for key in keys:
        verb, _, pattern = key.partition(" ")
        by_path.setdefault(_filled(pattern, path), []).append(f"{verb} {pattern}")
    if path in by_path:
        return f"there is no {method} for this path, only {', '.join(sorted(by_path[path]))}"
    close = difflib.get_close_matches(path, by_path, n=1)
    if not close:
        return "there is no such path"
    meant = by_path[close[0]]
    return f"did you mean {next((key for key in meant if key.startswith(f'{method} ')), meant[0])}"


def _filled(pattern: str, path: str) -> str:
    """``pattern`` with the segments of ``path`` in place of its parameters."""
    given = path.split("/")
    parts = pattern.split("/")
    filled = zip(parts, given + [""] * len(parts), strict=False)
    return "/".join(value if re.fullmatch(r"{\w+}", part) and value else part for part, value in filled)
