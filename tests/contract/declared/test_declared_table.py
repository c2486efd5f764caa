"""Pages, windows and the erasure of declared events against DynamoDB and Redis, beside a plain count in Python."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from headrace.api.paging.cursors import CursorSigner
from headrace.api.router import Api, http_handler
from headrace.core import times
from headrace.core.people import Target
from headrace.core.sender import SenderContext
from headrace.core.times import SystemClock
from headrace.features.analytics.scanner import Scanner
from headrace.features.analytics.windows import Analytics
from headrace.features.declared import people, routes
from headrace.features.declared.reading import EventColumns
from headrace.features.declared.stream import TIME_INDEX, USER_INDEX, Events
from headrace.runtime.aws import client
from headrace.runtime.settings import table_settings
from headrace.storage.dynamodb.batch_writer import DynamoStore, writing_client
from headrace.storage.dynamodb.readers import DynamoColumns, DynamoReader, columns_client
from headrace.storage.ports import EXISTS, Table
from headrace.storage.redis import Cache, connect
from tests.contract.redis_node import RedisNode
from tests.contract.tables import described, index, made
from tests.fakes.clock import FixedClock
from tests.worlds.declared import EXAMPLES, declared
from tests.worlds.functions import routes_of
from tests.worlds.requests import Context, http_event

NAME = "Declared"
GATE = SenderContext("gate", "gate", True, 10**17)
START = times.parse_iso("2025-11-21T10:00:00Z")
WINDOW = {"from": times.iso(START), "to": times.iso(START + 5 * times.MINUTE)}
COUNT = 120


def opening(number: int) -> dict[str, Any]:
    """Openings 2.5 s apart, of three doors, by ten people."""
    return {
        "door": f"door-{number % 3}",
        "badge": f"user-{number % 10}",
        "method": "code" if number % 4 == 0 else "card",
        "heldMs": number,
        "timestamp": times.iso(START + number * times.SECOND * 5 // 2),
        "eventId": f"opening-{number:04d}",
    }


def reading_value(number: int) -> dict[str, Any]:
    at = times.iso(START + number * times.SECOND)
    return {"sensor": "s", "kind": "humidity", "value": number / 10, "timestamp": at, "eventId": f"r-{number}"}


class World:
    """Two declared streams in one table."""

    def __init__(self, events: Mapping[str, Events], cache: Cache, clock: FixedClock) -> None:
        self.events, self.cache, self.clock = events, cache, clock

    def store(self, name: str, *sent: dict[str, Any], **more: Any) -> None:
        stream = self.events[name].stream
        now, settings = SystemClock().now(), table_settings(stream)
        rows = [stream.item(stream.accept(each, GATE).event, now, settings) | more for each in sent]
        store = DynamoStore(writing_client(), parallel=4, retry_seconds=5)
        key = (stream.partition_key, stream.sort_key)
        assert {*store.put_many(Table(NAME, key), rows)} <= {None, EXISTS}

    def reading_of(self, name: str) -> routes.Reading:
        """As bootstrap builds it, of another environment."""
        events = self.events[name]
        scanner = Scanner(EventColumns(DynamoColumns(columns_client(4)), name), NAME, self.clock, 4)
        analytics = Analytics(events.stream, scanner, self.cache, self.clock)
        return routes.Reading(events, events.stream, NAME, DynamoReader(client("dynamodb")), analytics)

    def ask(self, path: str, *, status: int = 200, **query: str | None) -> dict[str, Any]:
        """The answer of ``GET /streams/{path}`` to an analyst."""
        stream, *rest = path.split("/")
        given = {"stream": stream} | ({"userId": rest[1]} if rest[0] == "users" else {})
        key = "GET /streams/{stream}/" + "/".join(["users", "{userId}", "events"] if len(rest) > 1 else rest)
        wanted = {name: value for name, value in query.items() if value is not None}
        asked = http_event(key, user="analyst", scope="analytics:read", path=given, query=wanted)
        answer = http_handler(Api(routes_of("read_streams"), lambda: None, self.clock))(asked, Context())
        assert answer["statusCode"] == status, answer
        found: dict[str, Any] = json.loads(answer["body"])
        return found

    def pages(self, path: str, **query: str) -> list[str]:
        """The ids of all pages, by ``next``; and back by ``previous`` they are the same."""
        found, back, place, last = list[str](), list[str](), None, None
        while place is not None or not found:
            page = self.ask(path, limit="7", before=place, **query)
            found += [item["eventId"] for item in page["items"]]
            place, last = page["next"], page["previous"]
        while last is not None:
            page = self.ask(path, limit="11", after=last, **query)
            back[:0] = [item["eventId"] for item in page["items"]]
            last = page["previous"] if page["hasMore"] else None
        assert back == found[: len(back)]
        assert len(back) >= len(found) - 7
        return found


@pytest.fixture
def world(dynalite: str, redis_node: RedisNode, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    redis_node.start()
    connect(redis_node.settings, 1.0).flushall()
    monkeypatch.setenv("DECLARED_TABLE", NAME)
    monkeypatch.setenv("CACHE_ENDPOINT", redis_node.settings.cache_endpoint)
    indexes = tuple(index(each.name, each.partition_key, each.sort_key) for each in (USER_INDEX, TIME_INDEX))
    table = described(NAME, "streamKey", "timestampSk", indexes=indexes)
    with made(table), declared(monkeypatch, EXAMPLES) as events:
        clock = FixedClock(START + 30 * times.MINUTE)
        world = World(events, Cache.of(redis_node.settings), clock)
        monkeypatch.setattr(routes, "reading_of", world.reading_of)
        monkeypatch.setattr(routes, "cursors", lambda: CursorSigner(b"k" * 32))
        yield world


def test_pages_of_a_key_of_a_user_and_of_all_are_whole_and_in_order(world: World) -> None:
    """P7."""
    world.store("doors", *map(opening, range(60)))
    world.store("doors", *map(opening, range(60)))  # sent again: the same events
    world.store("sensor-readings", *map(reading_value, range(10)))
    newest_first = [f"opening-{number:04d}" for number in reversed(range(60))]

    assert world.pages("doors/events") == newest_first
    assert world.pages("doors/events", door="door-1") == newest_first[1::3]
    assert world.pages("doors/users/user-3/events") == newest_first[6::10]


def test_one_id_of_two_keys_is_two_events_on_every_page(world: World) -> None:
    same = {"timestamp": times.iso(START), "eventId": "o", "badge": "ann"}
    world.store("doors", *({**same, "door": f"door-{number}"} for number in range(20)))

    for path in ("doors/events", "doors/users/ann/events"):
        assert world.pages(path) == ["o"] * 20
        page = world.ask(path, limit="200")
        newer = world.ask(path, after=page["items"][0]["key"])
        assert (len({item["door"] for item in page["items"]}), newer["items"]) == (20, [])


def test_windows_equal_a_plain_count(world: World) -> None:
    """P9."""
    sent = [opening(number) for number in range(COUNT)]
    world.store("doors", *sent)
    world.store("sensor-readings", *map(reading_value, range(30)))

    one, two = {"door": "door-0"}, {"userId": "user-6"}
    for filters in ({}, one, {"method": "code"}, two, one | two):
        names = {name: "badge" if name == "userId" else name for name in filters}
        counted = [each for each in sent if all(each[names[name]] == value for name, value in filters.items())]
        held = [each["heldMs"] for each in counted]
        for _ in range(2):  # from the table, and from the cache
            found = world.ask("doors/window", **WINDOW, **filters)
            top = {name: {each[name]: each["events"] for each in rows} for name, rows in found["top"].items()}

            assert found["events"] == len(counted)
            assert found["uniqueUsers"] == len({each["badge"] for each in counted})
            assert top == {name: Counter(each[name] for each in counted) for name in ("door", "method")}
            assert found["sums"]["heldMs"] == {
                "events": len(held),
                "sum": sum(held),
                "mean": sum(held) / len(held),
                "min": min(held),
                "max": max(held),
            }
            world.clock.advance(12)
    series = world.ask("doors/series", **WINDOW, step="60", door="door-1")
    assert [point["events"] for point in series["points"]] == [8] * 5
    top = world.ask("doors/top", **WINDOW, by="userId", top="1")
    assert top["items"] == [{"userId": "user-0", "events": 12}]
    assert world.ask("doors/active-users", **WINDOW)["uniqueUsers"] == 10


def test_sums_of_fractions_are_exact_and_leave_out_events_without_the_field(world: World) -> None:
    world.store("sensor-readings", *map(reading_value, range(100)), {**reading_value(100), "battery": 7})

    for _ in range(2):
        found = world.ask("sensor-readings/window", **WINDOW)

        assert found["sums"]["value"] == {"events": 101, "sum": 505, "mean": 5.0, "min": 0, "max": 10}
        assert found["sums"]["battery"] == {"events": 1, "sum": 7, "mean": 7.0, "min": 7, "max": 7}
        assert "uniqueUsers" not in found
        world.clock.advance(12)


def test_a_wrong_question_names_what_is_allowed(world: World) -> None:
    wrong = {
        "doors/events": {"roof": "1"},
        "doors/window": {**WINDOW, "held": "1"},
        "doors/top": {**WINDOW, "by": "roof"},
        "sensor-readings/active-users": WINDOW,
    }
    said = {path: world.ask(path, status=400, **query)["error"]["details"][0] for path, query in wrong.items()}

    assert [each["field"] for each in said.values()] == ["roof", "held", "by", "stream"]
    assert said["doors/top"]["allowed"] == "door, method, userId"
    assert "door" in said["doors/events"]["allowed"]
    unknown = world.ask("roofs/window", status=404, **WINDOW)["error"]
    assert "doors" not in json.dumps(unknown)


def test_an_erased_user_leaves_the_events_of_every_stream_and_counts_stay(
    world: World, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """P15."""
    world.store("doors", *map(opening, range(30)), pin="1234", secretFields=["pin"])
    before = world.ask("doors/window", **WINDOW)
    target = Target("user-3", None, times.iso(START), "erased:1", "")

    with declared(monkeypatch, tmp_path):  # also while no stream is declared
        (step,), (source,) = people.steps(), people.sources("user-3", None)
        exported = [row for lines, _ in source(None) for _, row in lines]
        assert sum(count for _, count in step(target)) == 3
        assert sum(count for _, count in step(target)) == 0

    assert [row["heldMs"] for row in exported] == [3, 13, 23]
    assert world.ask("doors/users/user-3/events")["items"] == []
    found = world.ask("doors/users/erased:1/events")["items"]
    assert (len(found), [each for each in found if "pin" in each]) == (3, [])
    world.clock.advance(12)
    after = world.ask("doors/window", **WINDOW)
    assert (after["events"], after["uniqueUsers"], after["sums"]) == (30, 10, before["sums"])
