"""Hooks that take clicks back: the row of a click becomes a stub, and the counts that had it are read again.

A click that is being stored can have looked up its key before the stub was there, and then replace it. So every taking
back is tried again by the retry lane, until its stub is ``SETTLED``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from headrace.core import times
from headrace.core.errors import FollowUpUnavailable, StoreUnavailable
from headrace.core.items import Item
from headrace.core.stream import Stream
from headrace.core.times import Clock
from headrace.runtime.observability import report
from headrace.streams.ads.stream import TAKEN_BACK

SETTLED = 20 * times.SECOND
"""The age from which no click replaces a stub: 9 s for the longest write of a stub, and as long for that of a click."""
SINCE = "takenBackAt"


class Stub(NamedTuple):
    """The stub of a click: when it was written, and the ``timestampSk`` of the click; empty if none was stored."""

    since: str
    place: str


class StubStore(Protocol):
    """The table of clicks."""

    def take_back(self, stub: Item, now: str) -> Stub:
        """Make the row under the key of ``stub`` a stub, ``now`` if it is none; may raise StoreUnavailable."""


class TakeBackHook:
    """Makes the rows of clicks that are taken back stubs.

    It gives the place of the click to the row, so that the hook of late events marks the slots that had counted it.
    """

    def __init__(self, store: StubStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def after_store(self, _stream: Stream, items: Sequence[Item]) -> Sequence[FollowUpUnavailable | None]:
        return [self._take_back(item) if TAKEN_BACK in item else None for item in items]

    def _take_back(self, item: Item) -> FollowUpUnavailable | None:
        try:
            stub = self._store.take_back(item, times.iso(self._clock.now()))
        except StoreUnavailable as error:
            report("taking back", f"clicks are not taken back yet: {error.message}")
            return FollowUpUnavailable("the click could not be taken back")
        item[SINCE] = stub.since
        if stub.place:
            item["timestampSk"] = stub.place
        return None


class SettleHook:
    """Lets the retry lane take clicks back again whose stubs are not settled yet."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def after_store(self, _stream: Stream, items: Sequence[Item]) -> Sequence[FollowUpUnavailable | None]:
        settled = times.iso(self._clock.now() - SETTLED)
        return [_NOT_SETTLED if SINCE in item and item[SINCE] > settled else None for item in items]


_NOT_SETTLED = FollowUpUnavailable("the click is taken back again, in case it was stored at the same moment")
