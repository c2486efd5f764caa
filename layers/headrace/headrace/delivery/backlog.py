"""Refuses new events of a stream that has a backlog: those of producers first, and those of users last.

For example, an import sends twice what is stored. When a new event would wait for 30 s, the import gets 429; people can
still send. The parts:

1. :class:`BacklogReports`, in persist_events: while a queue's events are late, it computes how long a new event would
   wait, from the records in the queue and the rate at which they are stored.
2. :class:`SharedWaits`: this number of each queue, in the cache.
3. :class:`.BacklogLimit`, in the functions that accept events: it refuses events of a stream whose wait is too long.

The age of the oldest event would tell it too late: what has waited for 30 s was sent 30 s ago, and more came since.
Whatever fails here refuses nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from headrace.core.errors import HeadraceError
from headrace.core.times import SECOND, Clock
from headrace.queues.names import PERSIST_PREFIX
from headrace.runtime.observability import report
from headrace.runtime.threads import Background
from headrace.storage.redis import Cache

LATE_SECONDS = 1.0
"""A queue whose events wait for less is not looked at."""
SHARE_SECONDS = 1.0
"""A wait is shared at most once in this time, and read as often."""
FRESH_SECONDS = 10
"""After this time, a wait that was not shared again counts no longer: its queue may be empty. ``Retry-After`` is
not longer either."""
LONGEST_SECONDS = 60
"""While a large batch is stored, its queue shares no other wait. So the wait counts for twice the time that the batch
takes, and at most so long."""


class SharedWaits:
    """How many seconds a new event would wait, in Redis or Valkey: a hash for each stream, with a field for each queue.

    Both methods may raise CacheUnavailable.
    """

    def __init__(self, cache: Cache, clock: Clock) -> None:
        self._cache = cache
        self._clock = clock

    def write(self, queue: str, seconds: float, fresh: float = FRESH_SECONDS) -> None:
        """Share the wait of ``queue``, which counts for ``fresh`` seconds."""
        key = _key(queue.removeprefix(PERSIST_PREFIX).rpartition(".")[0])
        until = self._clock.now() + round(min(fresh, LONGEST_SECONDS) * SECOND)
        self._cache.run([("HSET", key, queue, f"{until} {seconds:.1f}"), ("EXPIRE", key, LONGEST_SECONDS)])

    def read(self, streams: Iterable[str]) -> dict[str, float]:
        """The longest wait of each stream's queues, in one round trip; 0 for a stream that is not late."""
        names, now = list(streams), self._clock.now()
        waits = {}
        for name, fields in zip(names, self._cache.run([("HGETALL", _key(each)) for each in names]), strict=True):
            known = [value.split() for value in fields.values()]
            waits[name] = max((float(seconds) for until, seconds in known if int(until) > now), default=0.0)
        return waits


def _key(stream: str) -> str:
    return f"backlog:{stream}"


class BacklogReports:
    """Shares how long a new event of a late queue would wait; ``depth`` returns the records that wait in a queue.

    A background thread asks and shares, at most once a second, while a batch is stored.
    """

    def __init__(self, waits: SharedWaits, depth: Callable[[str], int]) -> None:
        self._waits = waits
        self._depth = depth
        self._stored: dict[str, tuple[float, float]] = {}
        """Of each queue the records of late batches, and the seconds that these took. Earlier ones count less."""
        self._is_late = self._is_warm = False
        self._background = Background("backlog", SHARE_SECONDS)

    def begin(self, queue: str, records: int, waited: float) -> None:
        """Before a batch of ``records`` of ``queue`` is stored, whose oldest event waited for so many seconds."""
        stored, seconds = self._stored.get(queue, (0.0, 0.0))
        self._is_late = waited >= LATE_SECONDS
        if self._is_late and seconds:
            self._background.run(lambda: self._share(queue, records, stored / seconds))

    def end(self, queue: str, records: int, seconds: float) -> None:
        """After the batch, which took so many seconds."""
        # The first batch opens connections, and those that are not late are small: neither has the usual rate.
        if self._is_late and self._is_warm:
            stored, taken = self._stored.get(queue, (0.0, 0.0))
            self._stored[queue] = (stored / 2 + records, taken / 2 + seconds)
        self._is_warm = True

    def _share(self, queue: str, records: int, rate: float) -> None:
        try:
            fresh = max(FRESH_SECONDS, 2 * records / rate)
            self._waits.write(queue, (self._depth(queue) + records) / rate, fresh)
        except HeadraceError as error:
            report("backlog", f"senders do not know how long events wait: {error.message}")
