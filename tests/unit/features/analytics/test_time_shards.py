"""Rows are spread over the time shards of the stage, and a stage that reads more of them finds the earlier rows."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import pytest

from headrace.core import times
from headrace.core.sender import SenderContext
from headrace.core.stream import Shards, Stream, TableSettings
from headrace.features.ads.stream import ADS
from headrace.features.analytics.requests import Scope, WindowRequest
from headrace.features.analytics.scanner import Scanner
from headrace.features.analytics.time_slots import Span
from headrace.features.analytics.windows import Analytics
from headrace.features.ski.resort_days import ResortDays
from headrace.features.ski.stream import SKI, ResortDay
from tests.fakes.clock import FixedClock
from tests.fakes.storage import MemoryCache, MemoryColumns
from tests.worlds.senders import CHAT
from tests.worlds.ski_world import RIDES, SkiWorld, ride

START = "2025-11-21T10:00:30.000000Z"
NOW = times.micros_of(START)
SENDER = SenderContext("producer", "producer", True, NOW)
ROWS = 400
DAY = ResortDay(7, 2025, 45)
ATTRIBUTES = {"chat": "bucketId", "ads": "bucketId", "ski": "resortDayId"}


def raw(stream: Stream, number: int) -> dict[str, Any]:
    if stream is CHAT:
        return {"roomId": "lobby", "userId": "ann", "message": "hi", "messageId": f"m-{number}", "timestamp": START}
    if stream is ADS:
        return {"adId": "ad", "userId": "ann", "adType": "banner", "clickId": f"c-{number}", "clickedAt": START}
    return ride(skierID=number + 1)


def rows(stream: Stream, written: int, first: int = 0) -> list[dict[str, Any]]:
    """Rows of a stage that writes so many time shards."""
    table = TableSettings(table="T", time_shards=Shards(write=written, read=64))
    numbers = range(first, first + ROWS)
    return [stream.item(stream.accept(raw(stream, number), SENDER).event, NOW, table) for number in numbers]


def counted(stream: Stream, stored: list[dict[str, Any]], read: int) -> int:
    """How many of the rows analytics count that read so many time shards."""
    clock = FixedClock(times.iso(NOW + times.MINUTE))
    scanner = Scanner(MemoryColumns(lambda _table, _index: stored), "T", clock, parallel=1)
    of_stage = stream.with_time_shards(Shards(write=read, read=read))
    analytics = Analytics(of_stage, scanner, MemoryCache(clock), clock)
    window = WindowRequest(Scope(of_stage), Span(NOW - times.MINUTE, NOW + times.MINUTE))
    return analytics.whole(window, time.monotonic() + 10)[1].total


@pytest.mark.parametrize("stream", [CHAT, ADS, SKI], ids=lambda stream: stream.name)
@pytest.mark.parametrize("written", [8, 64])
def test_rows_use_all_time_shards_that_the_stage_writes(stream: Stream, written: int) -> None:
    shards = {row[ATTRIBUTES[stream.name]][-3:] for row in rows(stream, written)}

    assert shards == {f"{number:03d}" for number in range(written)}


@pytest.mark.parametrize("stream", [CHAT, ADS], ids=lambda stream: stream.name)
def test_analytics_with_more_shards_count_rows_that_were_written_to_fewer(stream: Stream) -> None:
    earlier, later = rows(stream, 8), rows(stream, 32, ROWS)

    assert counted(stream, earlier, 8) == counted(stream, earlier, 32) == ROWS
    assert counted(stream, earlier + later, 32) == 2 * ROWS
    assert counted(stream, earlier + later, 8) < 2 * ROWS  # why the number that is read is raised first


def test_a_resorts_day_with_more_shards_has_rides_that_were_written_to_fewer() -> None:
    world = SkiWorld()
    columns = MemoryColumns(lambda _table, _index: rows(SKI, 8) + rows(SKI, 32, ROWS))

    def skiers(shards: int) -> int:
        days = ResortDays(columns, RIDES.table, world.resorts, SkiWorld().counts, world.clock, shards=shards)
        return days.counts(DAY).skiers

    assert skiers(32) == 2 * ROWS
    assert skiers(8) < 2 * ROWS


def test_an_index_that_is_no_time_index_keeps_its_shards() -> None:
    changed = CHAT.with_time_shards(Shards(write=8, read=64)), ADS.with_time_shards(Shards(write=8, read=64))

    for before, after in zip((CHAT, ADS), changed, strict=True):
        others = [(old, new) for old, new in zip(before.indexes, after.indexes, strict=True) if not old.sharded]
        assert all(old == new for old, new in others)
        assert replace(after, indexes=()) == replace(before, indexes=())
