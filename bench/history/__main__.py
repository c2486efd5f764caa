"""Compares a page of history with the bare DynamoDB Query of the same rows: ``python -m bench.history``.

Starts its own dynalite (data in memory) and Redis, and fills a room of 1,000 messages and one of 200,000. The bare side
is boto3's ``client.query`` as its documentation shows it: one consistent Query of the newest 20 rows. Headrace's
side is the whole function, from the event to the answer: token, rights, cursors, rows, JSON. Both take turns, call by
call. Numbers are medians of each round's p50; ratios are medians of the rounds' ratios.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from bench.history.rooms import TABLE, RoomAccesses, fill_rooms
from bench.requests import http_event
from bench.rounds import Series, command, figure, head, ratio, row
from bench.services import Database, database, redis_cache

SIZES = [1_000, 200_000]
PAGE = 20
CURSOR_KEY = b"bench" * 8

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

        self._database = found.client()
        self._newest = NewestPageCache(redis_cache(found.cache_port), SystemClock())
        self._histories = {
            kind: History(
                DynamoReader(lean("dynamodb")), CursorSigner(CURSOR_KEY), TABLE, SystemClock(), access, self._newest
            )
            for kind, access in RoomAccesses(SIZES).of.items()
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

    def ours(self, kind: str, size: int) -> Call:
        """The whole function read_chat for one request."""
        from headrace.api.router import Api, Route, http_handler
        from headrace.core.caller import CHAT_READ
        from headrace.core.times import SystemClock
        from headrace.streams.chat.messages.history import RoomPageRequest, read_room
        from headrace.streams.chat.rooms.requests import RoomPath

        event = http_event("GET /rooms/{roomId}/messages", "chat:read", path={"roomId": f"room-{size}"})
        chat = SimpleNamespace(history=self._histories[kind])
        route = Route(read_room, scopes=(CHAT_READ,), path=RoomPath, query=RoomPageRequest)
        answer = http_handler(Api({event["routeKey"]: route}, lambda: chat, SystemClock()))
        return lambda: answer(event)

    def forget_requests(self, size: int) -> Call:
        """A call that forgets earlier requests for the room, so that its page is not cached."""
        return lambda: self._newest._asked.pop(f"room-{size}", None)

    def cases(self) -> Iterator[Case]:
        """All pages to measure. The membership intervals are read each time, also when the page is cached."""
        for kind, first, cached in (("open", "≤ 1.0×", "≤ 0.25×"), ("members", "≤ 1.5×", "≤ 1.5×")):
            for size in SIZES:
                bare, ours = self.bare(size), self.ours(kind, size)
                yield Case(kind, "first", size, bare, ours, first, self.forget_requests(size))
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
    ours = [item["key"] for item in json.loads(answer["body"])["items"]]
    bare = [item["timestampSk"]["S"] for item in case.bare()["Items"]]
    if ours != bare:
        raise SystemExit(f"{case.kind} {case.page} {case.size}: not the page of the bare Query")


def measure(pages: Pages, rounds: int, calls: int) -> list[Series]:
    """Print the two tables; returns their numbers."""
    cases = list(pages.cases())
    seen: dict[int, list[tuple[float, float]]] = {number: [] for number in range(len(cases))}
    for case in cases:
        check(case)
    for turn in range(rounds + 1):
        for number, case in enumerate(cases):
            both = p50s(case, calls)
            if turn:  # the first round warms up
                seen[number].append(both)
    head("room", "page", "messages", "bare Query", "headrace", "ratio", "aim")
    flat: dict[tuple[str, str], list[list[float]]] = {}
    found = []
    for number, case in enumerate(cases):
        bare, ours = ([each[side] for each in seen[number]] for side in (0, 1))
        page = f"{case.kind}: {case.page}, {case.size:,}"
        against = ratio(f"{page}, time against a bare Query", ours, bare, "lower")
        found += [figure(page, ours, "ms"), figure(f"{page}, bare Query", bare, "ms")]
        found += [against] if case.size == SIZES[1] else []
        print(
            f"| {case.kind} | {case.page} | {case.size:,} | {statistics.median(bare):.2f} ms "
            f"| {statistics.median(ours):.2f} ms | {against.median:.2f}× | {case.aim} |"
        )
        flat.setdefault((case.kind, case.page), []).append(ours)
    print()
    head("room", "page", f"at {SIZES[1]:,} against {SIZES[0]:,} messages")
    for (kind, page), (small, large) in flat.items():
        flatness = ratio(f"{kind}: {page}, time in the large room against the small one", large, small, "lower")
        found.append(flatness)
        row(f"{kind}", f"{page}", f"{flatness.median:.2f}×")
    return found


def main(rounds: int, calls: int, messages: int) -> list[Series]:
    SIZES[1] = messages
    with database(CURSOR_SECRET_ARN="bench") as found:
        began = time.monotonic()
        fill_rooms(found, SIZES)
        count, seconds = sum(SIZES), time.monotonic() - began
        print(f"{count:,} messages written in {seconds:.0f} s. Medians of {rounds} rounds of {calls} calls.\n")
        return measure(Pages(found), rounds, calls)


if __name__ == "__main__":
    command(__doc__, main, 9, calls=40, messages=SIZES[1])
