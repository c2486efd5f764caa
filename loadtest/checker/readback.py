"""Waits until everything acknowledged is stored and reads it back, over the public API."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

from loadtest.checker.checker import Checker, Item
from loadtest.client.chat_events import after

TAIL = 50
POLL = 0.1
PATIENCE = 30.0
WAITING_WITHIN = 900.0
"""Seconds in all to wait for events that the lanes hold. The retry lane tries for three minutes; an overload adds."""


class Reader(Protocol):
    """The part of a client that reading back needs."""

    def walk_room(
        self, room: str, *, limit: int = 200, start: str | None = None, end: str | None = None
    ) -> Iterator[list[dict[str, Any]]]:
        """Yield the pages of ``room`` from newest to oldest, of times from ``start`` to before ``end``."""
        ...


Progress = Callable[[int], object]
"""Called with the number of items of each page, in the first walk of all rooms."""


def drain_and_read(
    checker: Checker,
    reader: Reader,
    *,
    patience: float = PATIENCE,
    progress: Progress = lambda _read: None,
    waiting: Callable[[], int] = lambda: 0,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> float:
    """Wait until everything acknowledged is readable, then walk every room once into ``checker``.

    The newest events of each room are polled first, then every room is walked. Returns the time of ``clock`` at which
    every acknowledged event was readable; an event that the walk missed moves it to when the event was found. After
    ``patience`` seconds without progress the wait ends, unless the lanes still hold events: ``waiting`` counts them.

    Raises:
        localstage.client.errors.ClientError: the history cannot be read.
    """
    end = clock() + WAITING_WITHIN

    def stalled() -> bool:
        return clock() >= end or not waiting()

    def await_readable(wanted: Mapping[str, Mapping[str, str]]) -> bool:
        return await_none(unread(wanted, reader), patience, stalled, clock=clock, sleep=sleep)

    await_readable(checker.newest(TAIL))
    drained = clock()
    walk_all(checker, reader, progress)
    missing = checker.missing()
    while missing:
        found_all = await_readable(missing)
        drained = clock()
        walk_all(checker, reader)
        before, missing = missing, checker.missing()
        # Found by its id but still missing: the event is altered, so waiting does not help.
        if not found_all or missing == before:
            break
    return drained


def walk_all(checker: Checker, reader: Reader, progress: Progress = lambda _read: None) -> None:
    """Read every room from newest to oldest, page by page, and check the order."""
    checker.begin_read()
    for room in checker.rooms():
        previous: tuple[str, str] | None = None
        for page in map(checker.own, reader.walk_room(room)):
            for item in page:
                position = _position(item)
                if previous is not None and position > previous:
                    checker.disorder(item)
                previous = position
                checker.read(item)
            progress(len(page))


def _position(item: Item) -> tuple[str, str]:
    return str(item.get("timestamp")), str(item.get("messageId"))


def unread(wanted: Mapping[str, Mapping[str, str]], reader: Reader) -> Callable[[], int]:
    """A function that looks for the events of ``wanted`` and returns how many were never seen."""
    left = {room: dict(events) for room, events in wanted.items() if events}

    def look() -> int:
        for room, events in list(left.items()):
            pages = reader.walk_room(room, start=min(events.values()), end=after(max(events.values())))
            seen = {item.get("messageId") for page in pages for item in page}
            left[room] = {key: value for key, value in events.items() if key not in seen}
            if not left[room]:
                del left[room]
        return sum(map(len, left.values()))

    return look


def await_none(
    look: Callable[[], int],
    patience: float,
    stalled: Callable[[], bool] = lambda: True,
    *,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> bool:
    """Look until ``look`` returns 0; False if ``stalled`` after ``patience`` seconds in which that did not fall."""
    fewest, deadline = look(), clock() + patience
    while fewest:
        if clock() >= deadline:
            if stalled():
                return False
            deadline = clock() + patience
        sleep(POLL)
        if (left := look()) < fewest:
            fewest, deadline = left, clock() + patience
    return True
