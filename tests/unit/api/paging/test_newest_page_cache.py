"""P10: the newest page is correct with a cache that is down, emptied, slow, stopped or has invalid data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from headrace.api.paging.cursors import CursorSigner
from headrace.api.paging.newest_page_cache import ROWS, NewestPageCache, newest_page
from headrace.api.paging.request import PageRequest
from headrace.core.caller import Caller
from headrace.live.hints import NONE, live_marker
from headrace.storage.reading import RangeQuery, Rows
from headrace.streams.chat.messages.history import History
from tests.fakes.clock import FixedClock
from tests.fakes.live import live_hook
from tests.fakes.storage import MemoryCache, MemoryReader
from tests.worlds.history_world import ALICE, START, Rights, at, body, ids, interval, row

BOB = Caller("bob", "Bob", ALICE.scopes, ALICE.expires_at)


class Room:
    """A busy room with its cache: ``pages`` reads it, ``reads`` counts reads of the table."""

    def __init__(self, count: int, **reaches: Any) -> None:
        self.rows = [row(n, f"m{n:03d}") for n in range(count)]
        self.clock = FixedClock(START)
        self.cache = MemoryCache(self.clock)
        self.reads = 0
        self.while_reading: Callable[[], None] = lambda: None
        self.rights = Rights(**reaches)
        signer = CursorSigner(b"k" * 32)
        newest = NewestPageCache(self.cache, self.clock)
        newest.find("lobby")
        self.pages = History(self, signer, "messages", self.clock, self.rights, newest)
        self.table_only = History(MemoryReader(self.table), signer, "messages", self.clock, self.rights)

    def table(self, _: str) -> list[dict[str, Any]]:
        return self.rows

    def read(self, query: RangeQuery) -> Rows:
        self.reads += 1
        found = MemoryReader(self.table).read(query)
        self.while_reading()
        return found

    def read_many(self, queries: Sequence[RangeQuery]) -> list[Rows]:
        return [self.read(query) for query in queries]

    def page(self, caller: Caller = ALICE, **request: Any) -> dict[str, Any]:
        return body(self.pages.room(caller, "lobby", PageRequest(**request)))


@pytest.mark.parametrize("count", [0, 1, ROWS - 1, ROWS, ROWS + 1, ROWS + 2, 60])
@pytest.mark.parametrize("limit", [1, 5, ROWS - 1, ROWS])
def test_p10_a_cached_page_equals_the_page_from_the_table(count: int, limit: int) -> None:
    room = Room(count)
    expected = body(room.table_only.room(ALICE, "lobby", PageRequest(limit=limit)))

    missed, hit = room.page(limit=limit), room.page(limit=limit)

    assert (missed, hit) == (expected, expected)
    assert room.reads == 1


def test_the_newest_page_of_a_busy_room_costs_one_cache_call_and_no_read() -> None:
    room = Room(60)
    room.page()
    calls, reads = room.cache.calls, room.reads

    for caller in (ALICE, BOB):
        for limit in (1, 7, 20):
            room.page(caller, limit=limit)

    assert room.reads == reads
    assert room.cache.calls == calls + 6


def test_the_number_of_rooms_in_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headrace.api.paging.newest_page_cache.REMEMBERED", 3)
    cache = MemoryCache(FixedClock(START))
    newest = NewestPageCache(cache, FixedClock(START))

    for room_id in ("a", "b", "c", "a", "d", "a", "b"):
        newest.find(room_id)

    assert cache.calls == 2


def test_p12_cursors_of_a_cached_page_belong_to_the_caller() -> None:
    room = Room(60)
    room.page(BOB)
    mine, bobs = room.page(), room.page(BOB)

    assert mine["items"] == bobs["items"]
    assert mine["next"] != bobs["next"]
    assert ids(room.page(before=mine["next"], limit=2)) == ["m039", "m038"]


@pytest.mark.parametrize("request_", [{"limit": 21}, {"limit": 200}, {"start": at(3)}, {"before": 1}])
def test_any_other_page_comes_from_the_table(request_: dict[str, Any]) -> None:
    room = Room(60)
    if "before" in request_:
        request_ = {"before": room.page(limit=1)["next"]}
    calls, reads = room.cache.calls, room.reads

    room.page(**request_)

    assert (room.reads, room.cache.calls) == (reads + 1, calls)


def test_p10_an_outdated_page_of_a_stopped_cache_is_not_used() -> None:
    room = Room(60)
    room.page()
    (kept,) = room.cache.get_many([newest_page("lobby")])
    room.rows.append(row(90, "new"))
    room.clock.advance(30)
    assert kept is not None
    room.cache.set_many({newest_page("lobby"): (kept, 2)})

    assert ids(room.page())[0] == "new"


def test_p10_age_counts_from_before_the_table_was_read() -> None:
    room = Room(60)
    room.while_reading = lambda: room.clock.advance(1.5)
    room.page()
    room.while_reading = lambda: None
    room.rows.append(row(90, "new"))

    room.clock.advance(0.6)

    assert ids(room.page())[0] == "new"


def test_p10_a_page_that_took_longer_to_read_is_not_cached() -> None:
    room = Room(60)
    room.while_reading = lambda: room.clock.advance(2.5)

    room.page()

    assert room.cache.get_many([newest_page("lobby")]) == [None]


@pytest.mark.parametrize("value", [b"", b"\xff\xfe", b"{}", b"3 0 1", b"2 x 1\n", b"2 1 1 1"])
def test_p10_an_invalid_cached_page_is_not_used(value: bytes) -> None:
    room = Room(60)
    room.cache.set_many({newest_page("lobby"): (value, 2)})

    assert len(ids(room.page())) == 20


def test_p10_nothing_is_written_to_a_cache_whose_miss_was_slow() -> None:
    room = Room(60)

    class Slow(MemoryCache):
        def get_many(self, keys: Sequence[str]) -> list[bytes | None]:
            room.clock.advance(0.09)
            return super().get_many(keys)

    slow = Slow(room.clock)
    newest = NewestPageCache(slow, room.clock)
    pages = History(room, CursorSigner(b"k" * 32), "messages", room.clock, room.rights, newest)
    newest.find("lobby")

    body(pages.room(ALICE, "lobby", PageRequest()))

    assert slow.calls == 1


def test_p12_the_cached_newest_page_is_only_for_intervals_that_cover_it() -> None:
    """Other members get a page that is read for them."""
    room = Room(60, lobby=(interval(0),))
    room.page()
    reads = room.reads

    room.rights.intervals["lobby"] = (interval(5, 7), interval(30))
    assert len(ids(room.page())) == 20
    assert room.reads == reads

    for intervals in (
        (interval(39.5),),
        (interval(50),),
        (interval(0, 55),),
        (interval(0, 50), interval(58)),
        (interval(70),),
    ):
        room.rights.intervals["lobby"] = intervals
        assert room.page() == body(room.table_only.room(ALICE, "lobby", PageRequest()))


def test_writers_invalidate_each_room_once_in_one_cache_call() -> None:
    clock = FixedClock(START)
    cache = MemoryCache(clock)
    items = [row(n, f"m{n}", room=f"room-{n % 3}") for n in range(25)]
    for n in range(3):
        cache.set_many({newest_page(f"room-{n}"): (b"x", 2), live_marker(f"room-{n}"): (NONE, 2)})
    calls = cache.calls

    assert live_hook(cache, clock).after_store(items) == [None] * 25
    assert cache.calls == calls + 1
    assert cache.get_many([newest_page(f"room-{n}") for n in range(3)]) == [None] * 3
