"""Compares a page of history with the bare DynamoDB Query of the same rows: ``python -m bench.history``.

Starts its own dynalite (data in memory) and Redis, and fills a room of 1,000 messages and one of 200,000. The bare side
is boto3's ``client.query`` as its documentation shows it: one consistent Query of the newest 20 rows. Headrace's
side is the whole function, from the event to the answer: token, rights, cursors, rows, JSON. Both take turns, call by
call. The same with a room of 8 shards against one without, also through a proxy that delays each request by 8 ms, as a
network does. Numbers are medians of each round's p50; ratios are medians of the rounds' ratios.
"""

from __future__ import annotations

import json
import os
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from bench.history.rooms import SHARDED, TABLE, fill_rooms, room_accesses
from bench.requests import http_event
from bench.rounds import Series, command, figure, head, ratio, row
from bench.services import Database, database, redis_cache
from localstage.core.tcp_proxy import delayed

SIZES = [1_000, 200_000]
PAGE, LARGEST = 20, 200
CURSOR_KEY = b"bench" * 8
DELAY_MS = 8

Call = Callable[[], Any]


@dataclass(frozen=True)
class Case:
    """One page of one kind of room, with the two calls that read it, and the aim for their ratio."""

    kind: str
    page: str
    size: int
    bare: Call
    ours: Call
    aim: str
    before_each: Call = lambda: None


class Pages:
    """The calls that read pages: bare Query calls, and ours."""

    def __init__(self, found: Database) -> None:
        from headrace.api.paging.cursors import CursorSigner
        from headrace.api.paging.newest_page_cache import NewestPageCache
        from headrace.core.times import SystemClock
        from headrace.runtime.aws import client as lean
        from headrace.storage.dynamodb.readers import DynamoReader
        from headrace.streams.chat.messages.history import History
        from headrace.streams.chat.messages.shards import MessageReader

        self._database = found.client()
        self._newest = NewestPageCache(redis_cache(found.cache_port), SystemClock())
        self._histories = {
            kind: History(
                MessageReader(DynamoReader(lean("dynamodb"))),
                CursorSigner(CURSOR_KEY),
                TABLE,
                SystemClock(),
                access,
                self._newest,
            )
            for kind, access in room_accesses(SIZES).items()
        }

    def bare(self, size: int) -> Call:
        """The Query call as in boto3's documentation."""
        return lambda: self._database.query(
            TableName=TABLE,
            KeyConditionExpression="roomId = :room",
            ExpressionAttributeValues={":room": {"S": f"room-{size}"}},
            ScanIndexForward=False,
            ConsistentRead=True,
            Limit=PAGE,
        )

    def ours(self, kind: str, room: str, limit: int = PAGE) -> Call:
        """The whole function read_chat for one request."""
        from headrace.api.router import Api, Route, http_handler
        from headrace.core.caller import CHAT_READ
        from headrace.core.times import SystemClock
        from headrace.streams.chat.messages.history import RoomPageRequest, read_room
        from headrace.streams.chat.rooms.requests import RoomPath

        event = http_event(
            "GET /rooms/{roomId}/messages", "chat:read", path={"roomId": room}, query={"limit": str(limit)}
        )
        chat = SimpleNamespace(history=self._histories[kind])
        route = Route(read_room, scopes=(CHAT_READ,), path=RoomPath, query=RoomPageRequest)
        answer = http_handler(Api({event["routeKey"]: route}, lambda: chat, SystemClock()))
        return lambda: answer(event)

    def forget_requests(self) -> None:
        """Forget earlier requests, so that no page is cached."""
        self._newest._asked.clear()

    def cases(self) -> Iterator[Case]:
        """All pages to measure. The membership intervals are read each time, also when the page is cached."""
        for kind, first, cached in (("open", "≤ 1.0×", "≤ 0.25×"), ("members", "≤ 1.5×", "≤ 1.5×")):
            for size in SIZES:
                bare, ours = self.bare(size), self.ours(kind, f"room-{size}")
                yield Case(kind, "first", size, bare, ours, first, self.forget_requests)
                yield Case(kind, "newest, cached", size, bare, ours, cached)


def p50s(case: Case, calls: int) -> tuple[float, float]:
    """The medians of ``calls`` calls on both sides, in milliseconds. They alternate, so other load affects both."""
    seen: tuple[list[float], list[float]] = ([], [])
    for turn in range(calls):
        case.before_each()
        for side in (0, 1) if turn % 2 else (1, 0):
            call = (case.bare, case.ours)[side]
            began = time.perf_counter()
            call()
            seen[side].append((time.perf_counter() - began) * 1000)
    return statistics.median(seen[0]), statistics.median(seen[1])


def check(case: Case) -> None:
    """Compare the 20 rows of both sides."""
    answer = case.ours()
    if answer["statusCode"] != 200:
        raise SystemExit(f"{case}: {answer['body']}")
    if _keys(answer) != [item["timestampSk"]["S"] for item in case.bare()["Items"]]:
        raise SystemExit(f"{case.kind} {case.page} {case.size}: not the page of the bare Query")


def measure_shards(found: Database, rounds: int, calls: int) -> list[Series]:
    """Print the table of the room with shards; returns its numbers."""
    print()
    head("page", "latency", "room without shards", "with 8 shards", "ratio", "aim")
    series = []
    with delayed(found.port, DELAY_MS / 1000) as slow:
        # Without latency, the emulator answers the queries of all shards one after the other.
        urls = (("none", found.url, "–"), (f"{DELAY_MS} ms", f"http://127.0.0.1:{slow}", "≤ 2×"))
        for latency, url, aim in urls:
            os.environ["AWS_ENDPOINT_URL_DYNAMODB"] = url
            pages = Pages(found)
            for limit in (PAGE, LARGEST):
                plain, sharded = (pages.ours("open", room, limit) for room in (f"room-{SIZES[0]}", SHARDED))
                if _keys(plain()) != _keys(sharded()):
                    raise SystemExit("the rooms with the same messages have different pages")
                case = Case("open", f"first {limit}", SIZES[0], plain, sharded, aim, pages.forget_requests)
                seen = [p50s(case, calls) for _ in range(rounds + 1)][1:]
                of_plain, of_sharded = ([each[side] for each in seen] for side in (0, 1))
                name = f"page of {limit} of a room with 8 shards, latency {latency}"
                against = ratio(f"{name}, time against a room without", of_sharded, of_plain, "lower")
                texts = (f"{statistics.median(each):.2f} ms" for each in (of_plain, of_sharded))
                row(f"{limit}", latency, *texts, f"{against.median:.2f}×", case.aim)
                series += [against, figure(name, of_sharded, "ms")]
    return series


def _keys(answer: Any) -> list[str]:
    return [item["key"] for item in json.loads(answer["body"])["items"]]


def measure(pages: Pages, rounds: int, calls: int) -> list[Series]:
    """Print the table; returns its numbers."""
    cases = list(pages.cases())
    seen: dict[int, list[tuple[float, float]]] = {number: [] for number in range(len(cases))}
    for case in cases:
        check(case)
    for turn in range(rounds + 1):
        for number, case in enumerate(cases):
            both = p50s(case, calls)
            if turn:  # the first round warms up
                seen[number].append(both)
    head("room", "page", "messages", "bare Query", "headrace", "ratio", f"against {SIZES[0]:,}", "aim")
    found: list[Series] = []
    small: dict[str, list[float]] = {}
    for number, case in enumerate(cases):
        bare, ours = ([each[side] for each in seen[number]] for side in (0, 1))
        page = f"{case.kind}: {case.page}, {case.size:,}"
        against = ratio(f"{page}, time against a bare Query", ours, bare, "lower")
        name = f"{case.kind}: {case.page}, time in the large room against the small one"
        flatness = [ratio(name, ours, small[name], "lower")] if case.size == SIZES[1] else []
        found += [figure(page, ours, "ms"), figure(f"{page}, bare Query", bare, "ms")]
        found += [against, *flatness] if flatness else []
        small.setdefault(name, ours)
        texts = (f"{statistics.median(each):.2f} ms" for each in (bare, ours))
        flat = "".join(f"{each.median:.2f}×" for each in flatness)
        row(case.kind, case.page, f"{case.size:,}", *texts, f"{against.median:.2f}×", flat, case.aim)
    return found


def main(rounds: int, calls: int, messages: int) -> list[Series]:
    SIZES[1] = messages
    with database(CURSOR_SECRET_ARN="bench") as found:
        began = time.monotonic()
        fill_rooms(found, SIZES)
        count, seconds = sum(SIZES) + SIZES[0], time.monotonic() - began
        print(f"{count:,} messages written in {seconds:.0f} s. Medians of {rounds} rounds of {calls} calls.\n")
        return measure(Pages(found), rounds, calls) + measure_shards(found, rounds, calls)


if __name__ == "__main__":
    command(__doc__, main, 9, calls=40, messages=SIZES[1])
