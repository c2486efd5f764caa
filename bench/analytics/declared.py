"""Compares declared events with ad clicks: ``python -m bench.analytics.declared``.

Openings of a door (examples/streams/doors.py), with a user and two of their three other fields, beside clicks with the
same keys, users, ids and times. Starts the stage's DynamoDB emulator on disk, and Redis. Events are accepted with a
publisher that takes everything, and stored by the persister; both streams take turns, batch by batch, and the CPU of
this process counts. Windows are asked in a new environment, over an hour of events.
"""

from __future__ import annotations

import base64
import json
import os
import random
import statistics
import time
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from bench import ROOT
from bench.analytics.world import MINUTE, Environment, empty_cache
from bench.publish import silence
from bench.rounds import Series, command, figure, head, ratio, row
from bench.rows import fill
from bench.services import create_table, database, redis_cache
from loadtest.ads.clicks import TYPES, click_of

TABLES = {"ads": "AdClicks", "doors": "Declared"}
BATCH, RECORDS = 25, 8
"""Events of a request, which are one record, and records that are stored together."""
PARALLEL = 8
"""Batches that are written at once."""
HOUR_END, HOUR = (int(time.time() // 60) - 65) * MINUTE, 60 * MINUTE
"""Over an hour ago: all of the hour, and of the minutes after it, is kept as slots."""
FILLED_AT = HOUR_END + 5 * MINUTE
"""When their last event happens."""
LATER = [number * MINUTE for number in range(1, 5)]
WAYS = (("a new window", [0], 500), ("a minute later", LATER, 80), ("the same again", LATER[-1:] * 5, 15))
"""The questions, how much later their windows are, and the aim in ms."""
Seen = dict[str, list[float]]


def events(stream: str, times: Sequence[int], name: int) -> Iterator[dict[str, Any]]:
    """An event of ``stream`` at each of ``times``, as it is sent."""
    chance = random.Random(name)
    for number, at in enumerate(times):
        click = click_of(name, number, at, chance).item()
        id, moment, ad, user, kind = click.values()
        method = ("card", "code", "phone")[TYPES.index(kind) % 3]
        opening = {"eventId": id, "timestamp": moment, "door": ad, "badge": user, "method": method}
        yield click if stream == "ads" else opening


class Path:
    """How events of a stream are accepted and stored."""

    confirm_seconds = 0.0

    def __init__(self, stream: Any, cache_port: int) -> None:
        from headrace.core.caller import Caller
        from headrace.core.stream import TableSettings
        from headrace.core.times import SystemClock
        from headrace.delivery.acceptor import Acceptor
        from headrace.delivery.persister import Persister
        from headrace.delivery.row_writer import RowWriter
        from headrace.features.analytics.late_events import mark
        from headrace.runtime.observability import Meter
        from headrace.storage.dynamodb.batch_writer import DynamoStore, writing_client

        unused: Any = None
        clock, caller = SystemClock(), Caller("bench", "bench", frozenset(["events:write"]), 4_102_444_800)
        late = ((stream.name, partial(mark, stream, redis_cache(cache_port), clock)),)
        tables = {stream.name: TableSettings(table=TABLES[stream.name], retention_days=90)}
        writer = RowWriter(DynamoStore(writing_client(PARALLEL), PARALLEL), tables, late)
        self._persister = Persister(writer, unused, clock)
        self._accept = partial(Acceptor(self, unused, {}, clock).accept, stream, caller)
        self._meter = Meter
        self.bodies: list[bytes] = []

    def publish(self, messages: Sequence[Any]) -> list[Any]:
        """Take everything, as the acceptor's publisher."""
        self.bodies += [each.body for each in messages]
        return [None] * len(messages)

    def accept(self, raws: Sequence[object]) -> None:
        if wrong := [each.error for each in self._accept(raws, "c-1", self._meter()) if each.error]:
            raise SystemExit(f"not accepted: {wrong[0]}")

    def store(self) -> None:
        """Store the first of the records that were published."""
        taken, self.bodies = self.bodies[:RECORDS], self.bodies[RECORDS:]
        records = [{"redelivered": False, "data": base64.b64encode(each).decode()} for each in taken]
        with silence():
            self._persister.main_lane({"rmqMessagesByQueue": {"persist.0::/": records}}, lambda: 60.0)


def store(stream: Any, table: str, events: Iterable[dict[str, Any]]) -> None:
    """Store events of a trusted producer in the table of their stream."""
    from headrace.core.sender import SenderContext
    from headrace.core.stream import TableSettings

    sender, settings = SenderContext("bench", "bench", True, FILLED_AT), TableSettings(table=table, retention_days=90)
    rows = (stream.item(stream.accept(each, sender).event, FILLED_AT, settings) for each in events)
    fill(table, (stream.partition_key, stream.sort_key), rows)


def cpu(call: Callable[[], object], events: int) -> float:
    """Microseconds of CPU of each of so many events."""
    began = time.process_time()
    call()
    return 1e6 * (time.process_time() - began) / events


def accept_and_store(paths: dict[str, Path], rounds: int, count: int) -> list[Series]:
    """Print what each event takes; returns the numbers. The first round warms up."""
    accepting, storing, both = seen = tuple({name: list[float]() for name in paths} for _ in range(3))
    for number in range(rounds + 1):
        start = time.time_ns() // 1000
        made = {name: list(events(name, range(start, start + count), number)) for name in paths}
        spent = {name: [0.0, 0.0] for name in paths}
        turns = list(paths.items())[:: 1 if number % 2 else -1]
        for first in range(0, count, BATCH):
            for name, path in turns:
                spent[name][0] += cpu(partial(path.accept, made[name][first : first + BATCH]), count)
        while any(path.bodies for path in paths.values()):
            for name, path in turns:
                spent[name][1] += cpu(path.store, count)
        for name, (accepted, stored) in spent.items() if number else ():
            for found, value in zip(seen, (accepted, stored, accepted + stored), strict=True):
                found[name].append(value)
    parts = compared("accepted, µs of CPU", accepting, "–") + compared("stored, µs of CPU", storing, "–")
    return parts + compared("accepted and stored, µs of CPU", both, "≤ 1.1×")


def compared(what: str, seen: Seen, aim: str) -> list[Series]:
    """Print a row; returns its numbers."""
    click, declared = (figure(f"{what}: {name}", seen[name], "") for name in TABLES)
    against = ratio(f"{what}, against a click", declared.values, click.values, "lower")
    row(what, f"{click.median:,.1f}", f"{declared.median:,.1f}", f"{against.median:.2f}×", aim)
    return [click, declared, against]


def windows(begin: Callable[[str], Callable[[int], float]], rounds: int) -> list[Series]:
    """Print how long each question takes, of both streams in turns; returns the numbers. The first round warms up."""
    seen: list[Seen] = [{name: [] for name in TABLES} for _ in WAYS]
    for number in range(rounds + 1):
        for name in sorted(TABLES, reverse=bool(number % 2)):
            ask = begin(name)
            for found, (_, later, _) in zip(seen, WAYS, strict=True):
                took = statistics.median(map(ask, later))
                found[name] += [took] if number else []
    return [
        each
        for found, (way, _, aim) in zip(seen, WAYS, strict=True)
        for each in compared(f"{way}, ms", found, f"≤ {aim} ms")
    ]


def asking(cache_port: int, hour: int, name: str) -> Callable[[int], float]:
    """Empties the cache; asks for the window that is so much ``later`` in a new environment, for milliseconds."""
    from headrace.core.times import SystemClock
    from headrace.features.declared.reading import EventColumns
    from headrace.stage.registry import STREAMS

    adapted = partial(EventColumns, stream=name) if name == "doors" else None
    environment = Environment(SystemClock(), cache_port, STREAMS[name], TABLES[name], adapted)
    empty_cache(cache_port)

    def ask(later: int) -> float:
        took, _, answer = environment.ask(HOUR_END - HOUR + later, HOUR_END + later)
        if answer["totalMessages"] != hour:
            raise SystemExit(f"{name}: {answer['totalMessages']} events instead of {hour}")
        return took

    return ask


def main(rounds: int, count: int, hour: int) -> list[Series]:
    os.environ["STREAMS_FOLDER"] = str(ROOT / "examples" / "streams")
    import headrace.bootstrap  # noqa: F401 - sets what an environment sets
    from headrace.stage.registry import STREAMS

    with database(of_the_stage=True, POWERTOOLS_METRICS_DISABLED="true") as found:
        for table in TABLES.values():
            create_table(found.client(), table)
        print(f"Medians of {rounds} rounds of {count:,} events each; windows of {hour:,} events in an hour.\n")
        head("", "click", "declared", "ratio", "aim")
        series = accept_and_store({name: Path(STREAMS[name], found.cache_port) for name in TABLES}, rounds, count)
        with urllib.request.urlopen(f"{found.url}/consumed-capacity", timeout=10) as answer:
            consumed = json.load(answer)
        written = {name: [consumed[table]["write"] / (rounds + 1) / count] for name, table in TABLES.items()}
        series += compared("write units, with the indexes", written, "–")
        evenly = range(HOUR_END - HOUR, FILLED_AT, HOUR // hour)
        for name, table in TABLES.items():
            store(STREAMS[name], table, events(name, evenly, -1))
        return series + windows(partial(asking, found.cache_port, hour), rounds)


if __name__ == "__main__":
    command(__doc__, main, 5, count=5_000, hour=50_000)
