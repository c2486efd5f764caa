"""Waits until posted events can be read."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from loadtest.checker.findings import Findings
from loadtest.checker.readback import WAITING_WITHIN
from localstage.client.errors import HttpError

NEWEST = 50
"""How many of the newest events are waited for, before everything is read."""


def unreadable(asked: Iterable[Callable[[], bool]]) -> Callable[[], int]:
    """A function that asks again what was not yet answered with True, and returns how many are left.

    A 404 is no error: what is asked for is not stored yet.
    """
    left = list(asked)

    def look() -> int:
        left[:] = [ask for ask in left if not _is_readable(ask)]
        return len(left)

    return look


def until_complete(
    read: Callable[[], Findings], waiting: Callable[[], int], sleep: Callable[[float], None] = time.sleep
) -> Findings:
    """Read everything again while fewer events are missing each time, or the lanes hold events.

    ``waiting`` counts the events that the lanes hold. They are waited for no longer than ``WAITING_WITHIN`` seconds.
    """
    end, found = time.monotonic() + WAITING_WITHIN, read()
    while found.lost:
        sleep(5.0)
        before, found = found, read()
        if found.lost >= before.lost and (time.monotonic() >= end or not waiting()):
            break
    return found


def _is_readable(ask: Callable[[], bool]) -> bool:
    try:
        return ask()
    except HttpError as error:
        if error.status != 404:
            raise
        return False
