"""Why a request is refused with a bare 404, which clients of AWS must guess: for the stage's log."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable


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
