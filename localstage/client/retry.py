"""How long a client waits before it sends the same request again."""

from __future__ import annotations

import random

FIRST_PAUSE, LONGEST_PAUSE = 0.2, 5.0
"""Bounds of the random part in seconds: twice the first before attempt 2, doubling up to the longest."""
LONGEST_ADVICE = 30.0
"""The longest ``Retry-After`` that is obeyed, in seconds."""


def backoff(attempt: int, retry_after: float | None = None) -> float:
    """Seconds to wait after the failed ``attempt`` (from 1): ``retry_after``, and full jitter in addition.

    The jitter keeps clients that failed together from returning together.
    """
    bound = min(FIRST_PAUSE * 2**attempt, LONGEST_PAUSE)
    return min(retry_after or 0.0, LONGEST_ADVICE) + random.uniform(0.0, bound)  # noqa: S311
