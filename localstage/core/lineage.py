"""Lambda's recursion detection: the trace header of a chain of requests counts how often it invoked each function.

For example, ``Root=1-…;Parent=…;Sampled=0;Lineage=2531b2d6:15`` is the header of a function's fifteenth invocation.
Lambda stops a chain "approximately" after 16.
"""

from __future__ import annotations

import functools
import re
from hashlib import sha256

MOST = 16
"""Invocations of one function in one chain."""
_LINEAGE = re.compile(r"(?:^|;)\s*Lineage=([0-9a-f:|]*)")


@functools.lru_cache(maxsize=256)
def invocations(header: str, function: str) -> int:
    """How often the chain of ``header`` has invoked ``function``; 0 without a header."""
    return _counts(header).get(_key(function), 0)


@functools.lru_cache(maxsize=256)
def lineage(header: str, function: str) -> str:
    """The ``Lineage`` for the next invocation of ``function`` in the chain of ``header``."""
    counts = _counts(header) | {_key(function): invocations(header, function) + 1}
    return "|".join(f"{key}:{count}" for key, count in counts.items())


def _counts(header: str) -> dict[str, int]:
    found = _LINEAGE.search(header)
    pairs = [one.partition(":") for one in found[1].split("|")] if found else []
    return {key: int(count) for key, _, count in pairs if count.isdecimal()}


def _key(function: str) -> str:
    return sha256(function.encode()).hexdigest()[:8]
