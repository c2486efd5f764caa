"""How long the retry lane waits between its tries, and so the outage that it outlasts with the dead lane empty (P6).

Nothing else decides about pauses, so that what ``make retry-budget`` prints and the docs state is what happens.
"""

from __future__ import annotations

RECEIVES = 5
"""Tries before SQS moves a record to the dead lane: the template's ``maxReceiveCount``."""

FACTOR = 4
LONGEST_PAUSE = 900
LONGEST_HIDDEN = 43_200
"""Seconds: the longest that SQS hides a message."""


def pause_after(received: int, first_pause: int) -> int:
    """Seconds until a record that was received ``received`` times is seen again.

    0 after its last try: SQS moves it to the dead lane when it would be received once more, and nothing is won by
    waiting for that.
    """
    if received >= RECEIVES:
        return 0
    return min(first_pause * int(FACTOR ** (max(1, received) - 1)), LONGEST_PAUSE)


def staggered_delays(count: int, visibility: int, chance: float) -> list[int]:
    """Seconds until each of ``count`` records of a batch is seen again, should one of them end the function.

    None sooner than by the queue's own ``visibility``, and one after the other by more than an invocation may take (a
    sixth of that, as the template has it), so that they meet no more: not even when one of them ends the function
    again and comes back ``visibility`` later, in the middle between two others. ``chance``, from 0 to 1, moves them
    all a little, so that they do not meet those of another batch either.
    """
    gap = visibility / 5.5
    return [min(int(visibility + gap * (place + chance)), LONGEST_HIDDEN) for place in range(count)]


def pauses(first_pause: int) -> tuple[int, ...]:
    """The pauses between the tries, in seconds."""
    return tuple(pause_after(received, first_pause) for received in range(1, RECEIVES))


def budget_seconds(first_pause: int) -> int:
    """The retry budget: from a record's first try in the retry lane to its last."""
    return sum(pauses(first_pause))


def outage_seconds(first_pause: int, probe_seconds: float) -> float:
    """The outage, and any shorter one, that leaves the dead lane empty.

    A breaker that met it last just before its end refuses for ``probe_seconds`` more, and a last try must come later.
    """
    return budget_seconds(first_pause) - probe_seconds
