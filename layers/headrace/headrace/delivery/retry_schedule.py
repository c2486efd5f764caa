"""The pauses between the tries of the retry lane, and the longest outage that leaves the dead lane empty (P6).

Only this module defines pauses; the docs and the template state what is computed here.
"""

from __future__ import annotations

RECEIVES = 5
"""Tries before SQS moves a record to the dead lane: the template's ``maxReceiveCount``."""
FACTOR = 4
LONGEST_PAUSE = 900
THROTTLED_SECONDS = 86_400
"""How long a record may wait for a table that throttles it. Until then, throttled tries do not count."""


def pause_after(received: int, first_pause: int) -> int:
    """Seconds until a record that was received ``received`` times becomes visible again.

    0 after its last try: SQS moves it to the dead lane at the next receive.
    """
    if received >= RECEIVES:
        return 0
    return min(first_pause * int(FACTOR ** (max(1, received) - 1)), LONGEST_PAUSE)


def pauses(first_pause: int) -> tuple[int, ...]:
    """The pauses between the tries, in seconds."""
    return tuple(pause_after(received, first_pause) for received in range(1, RECEIVES))


def budget_seconds(first_pause: int) -> int:
    """The retry budget: from a record's first try in the retry lane to its last."""
    return sum(pauses(first_pause))


def outage_seconds(first_pause: int, probe_seconds: float) -> float:
    """The longest outage in seconds that leaves the dead lane empty.

    A breaker may refuse calls for ``probe_seconds`` after the outage ends, and the last try must come later.
    """
    return budget_seconds(first_pause) - probe_seconds
