"""Waits until what was accepted can be read."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from loadtest.checker.findings import Findings
from loadtest.checker.readback import WAITING_WITHIN
from localstage.client.errors import HttpError

PATIENCE = 60.0
"""Seconds without progress until the wait ends."""
POLL = 0.2
NEWEST = 50
"""How many of the newest events are waited for, before everything is read."""


def await_readable(
    readable: Iterable[Callable[[], bool]],
    patience: float = PATIENCE,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], object] = time.sleep,
) -> bool:
    """Poll until every function in ``readable`` returned True; return False after ``patience`` without a new one.

    A function that raises a 404 is polled again: what it asks for is not stored yet.

    Raises:
        HttpError: another error.
    """
    left = list(readable)
    deadline = clock() + patience
    while left:
        still = [each for each in left if not _is_readable(each)]
        if len(still) < len(left):
            deadline = clock() + patience
        left = still
        if left and clock() >= deadline:
            return False
        if left:
            sleep(POLL)
    return True


def until_complete(
    read: Callable[[], Findings],
    waiting: Callable[[], int],
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], object] = time.sleep,
) -> Findings:
    """Read everything again while fewer events are missing each time, or the lanes hold events.

    ``waiting`` counts the events that the lanes hold. They are waited for no longer than ``WAITING_WITHIN`` seconds.
    """
    end = clock() + WAITING_WITHIN
    found = read()
    while found.lost:
        sleep(5.0)
        before, found = found, read()
        if found.lost >= before.lost and (clock() >= end or not waiting()):
            break
    return found


def _is_readable(ask: Callable[[], bool]) -> bool:
    try:
        return ask()
    except HttpError as error:
        if error.status != 404:
            raise
        return False
