"""Analytics with an index that lags, a cache that loses entries, and interleaved readers and writers."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, cast

from headrace.api.params import read
from headrace.core import keys, times
from headrace.core.stream import Shards, Stream
from headrace.features.analytics import responses
from headrace.features.analytics.late_events import mark
from headrace.features.analytics.requests import WindowRequest
from headrace.features.analytics.scanner import Scanner
from headrace.features.analytics.windows import Analytics
from headrace.storage.reading import Columns, Query
from tests.fakes.clock import FixedClock
from tests.fakes.storage import MemoryCache, MemoryColumns
from tests.worlds.functions import routes_of
from tests.worlds.senders import CHAT

SETTLE = 10
START = "2025-11-21T10:00:00.000000Z"
NOW = times.micros_of(START)
HOUR_QUERY = {"from": times.iso(NOW - times.HOUR), "to": times.iso(NOW)}
TAG = keys.sender_tag("producer")
Row = dict[str, Any]


class HookedCache(MemoryCache):
    """Calls ``between`` before each call."""

    between: Callable[[], None] = staticmethod(lambda: None)

    def _call(self) -> None:
        self.between()
        super()._call()

    def drop(self, fits: Callable[[str, bytes], bool]) -> None:
        """Delete the entries for which ``fits`` is true."""
        self._entries = {key: entry for key, entry in self._entries.items() if not fits(key, entry[0])}


class SlotWorld:
    """Rows by key with the time when they were stored, and when the cache was marked (``None``: not yet)."""

    def __init__(self, shards: int = 3, readers: int = 2, page: int = 2) -> None:
        self.clock = FixedClock(START)
        self.cache = HookedCache(self.clock)
        self.shards = shards
        self.rows: dict[tuple[str, str], Row] = {}
        self.stored: dict[tuple[str, str], int] = {}
        self.marked_at: dict[tuple[str, str], int | None] = {}
        self.lag = 0.0
        self.visible: dict[tuple[str, str], int] = {}
        self.waiting: list[Row] = []
        self.actions: list[Callable[[], object]] = []
        self.busy = False
        self.cache.between = self._between
        self.columns = MemoryColumns(self._seen, page)
        self.late = partial(mark, CHAT, self.cache, self.clock)
        self.readers = [self.reader() for _ in range(readers)]

    def reader(self, shards: int | None = None) -> Analytics:
        """Another reader, with nothing in memory."""
        scanner = Scanner(self.columns, "Messages", self.clock, parallel=1)
        number = shards or self.shards
        stream = CHAT.with_time_shards(Shards(write=number, read=number))
        return Analytics(stream, scanner, self.cache, self.clock)

    def row(self, at: int, user: str = "u0", room: str = "r0", message_id: str = "m0", expires: int = 0) -> Row:
        """A row at ``at`` microseconds."""
        time = times.iso(at)
        return {
            "roomId": room,
            "timestampSk": keys.timestamp_sk(time, message_id, TAG),
            "userId": user,
            "bucketId": keys.bucket_id(message_id, self.shards),
            "timestamp": time,
            **({"expiresAt": expires} if expires else {}),
        }

    def put(self, row: Row) -> None:
        """Store a row and mark the cache; other steps may run in between. A row that is there stays, as in a table."""
        key = (row["roomId"], row["timestampSk"])
        row = self.rows.setdefault(key, row)
        now = self.clock.now()
        self.stored.setdefault(key, now)
        self.visible[key] = min(self.visible.get(key, 10**18), now + round(self.lag * times.SECOND))
        self.marked_at.setdefault(key, None)
        self._between()
        (failure,) = self.late([row])
        if failure is None:
            if self.marked_at[key] is None:
                self.marked_at[key] = self.clock.now()
        elif row not in self.waiting:
            self.waiting.append(row)

    def redeliver(self) -> None:
        """Redeliver the retry lane's records."""
        waiting, self.waiting = self.waiting, []
        for row in waiting:
            self.put(row)

    def query(self, reader: Analytics, kind: str, query: dict[str, str]) -> dict[str, Any]:
        """The answer to one query."""
        return answer(reader, kind, request_of(kind, query, reader.stream), time.monotonic() + 1000)

    def fitting(self, query: dict[str, str], among: Iterable[tuple[str, str]] | None = None) -> list[Row]:
        """The rows that a full scan finds for ``query``."""
        start, end = (times.parse(query[name]) for name in ("from", "to"))
        now = self.clock.now() // times.SECOND
        return [
            row
            for key in (self.rows if among is None else among)
            for row in [self.rows[key]]
            if start <= row["timestamp"] < end
            and all(row[name] == query[name] for name in ("roomId", "userId") if name in query)
            and not 0 < row.get("expiresAt", 0) <= now
        ]

    def stored_by(self, until: int) -> list[tuple[str, str]]:
        """The rows that every answer as of that time must count."""
        return [key for key, marked_at in self.marked_at.items() if marked_at is not None and marked_at <= until]

    def _seen(self, _table: str, _index: str | None) -> Sequence[Row]:
        self._between()
        now = self.clock.now()
        return [row for key, row in list(self.rows.items()) if self.visible[key] <= now]

    def _between(self) -> None:
        """Run the next action, unless one is in progress."""
        if self.actions and not self.busy:
            self.busy = True
            try:
                self.actions.pop(0)()
            finally:
                self.busy = False


def world_with(*ats: int) -> SlotWorld:
    """A world with events at these times, whose cache is older than the settling time."""
    world = SlotWorld(shards=2)
    total(world, HOUR_QUERY)
    world.clock.advance(SETTLE + 2)
    for number, at in enumerate(ats):
        world.put(world.row(at, user=f"u{number}", message_id=f"m{number}"))
    world.clock.advance(SETTLE + 3)
    return world


def total(world: SlotWorld, query: dict[str, str] = HOUR_QUERY, reader: Any = None) -> int:
    """The number of messages in a window, as a new environment answers or ``reader``."""
    return cast(int, world.query(reader or world.reader(), "window", query)["totalMessages"])


def reads(world: SlotWorld, call: Callable[[], object]) -> int:
    """The number of pages that were read for an answer."""
    before = world.columns.reads
    call()
    return world.columns.reads - before


def watched(world: SlotWorld) -> list[Query]:
    """The queries that are sent from now on, once for each page."""
    found: list[Query] = []
    read = world.columns.read

    def keep(query: Query) -> Columns:
        found.append(query)
        return read(query)

    world.columns.read = keep  # type: ignore[method-assign]
    return found


def answer(reader: Analytics, kind: str, request: WindowRequest, deadline: float) -> dict[str, Any]:
    """The body of the answer of the route ``kind``."""
    if kind == "series":
        return reader.series(request, deadline)
    head, found = reader.whole(request, deadline)
    body = responses.window_body if kind == "window" else responses.active_users_body
    return {**head, **body(request, found)}


def request_of(kind: str, query: dict[str, str], stream: Stream) -> WindowRequest:
    """The request that a query string of read_analytics describes."""
    model = routes_of("read_analytics")[f"GET /analytics/{kind.replace('_', '-')}"].query
    assert model is not None
    read_query: Any = read(model, query)
    return cast(WindowRequest, read_query.of(stream))


def expected_window(rows: Sequence[Row], query: dict[str, str]) -> dict[str, Any]:
    """The answer about a window, computed by a scan of ``rows``."""
    start, end = (times.micros_of(times.parse(query[name])) for name in ("from", "to"))
    found = sorted(row["timestamp"] for row in rows)
    top = int(query.get("top", "10"))

    def ranked(name: str) -> list[dict[str, Any]]:
        counts = sorted(Counter(row[name] for row in rows).items(), key=lambda pair: (-pair[1], pair[0]))
        return [{name: key, "messages": count} for key, count in counts[:top]]

    span = max(1.0, (times.micros_of(found[-1]) - times.micros_of(found[0])) / 1e6) if found else 1.0
    return {
        "totalMessages": len(rows),
        "messagesPerSecond": {
            "window": round(len(rows) / ((end - start) / 1e6), 6),
            "active": round(len(rows) / span, 6),
        },
        "active": {"from": found[0], "to": found[-1]} if found else None,
        "uniqueUsers": len({row["userId"] for row in rows}),
        "topUsers": ranked("userId"),
        "topRooms": ranked("roomId"),
        "accuracy": {"exact": True},
    }


def expected_points(rows: Sequence[Row], query: dict[str, str]) -> list[dict[str, Any]]:
    """The points of a series, computed by a scan of ``rows``."""
    start, end = (times.micros_of(times.parse(query[name])) for name in ("from", "to"))
    step = int(query["step"]) * times.SECOND
    points = []
    for at in range(start - start % step, end, step):
        inside = [row for row in rows if at <= times.micros_of(row["timestamp"]) < at + step]
        users = len({row["userId"] for row in inside})
        points.append({"from": times.iso(max(at, start)), "messages": len(inside), "uniqueUsers": users})
    return points
