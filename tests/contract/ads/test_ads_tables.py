"""The queries about clicks against the local stage's DynamoDB and Redis."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from headrace.api.paging.cursors import CursorSigner
from headrace.api.router import Api, http_handler
from headrace.core import times
from headrace.core.sender import SenderContext
from headrace.core.stream import TableSettings
from headrace.core.times import SystemClock
from headrace.features.ads.accepting import TAKEN_BACK_CLICKS
from headrace.features.ads.routes import AdsServices, ad_clicks, stats, top, user_clicks
from headrace.features.ads.storing import MakeStub, make_stub
from headrace.features.ads.stream import ADS
from headrace.features.analytics.scanner import Scanner
from headrace.features.analytics.windows import Analytics
from headrace.runtime.aws import client
from headrace.storage.dynamodb.batch_writer import DynamoStore, writing_client
from headrace.storage.dynamodb.client import DynamoTable
from headrace.storage.dynamodb.readers import DynamoColumns, DynamoReader, columns_client
from headrace.storage.ports import EXISTS, Store, Table
from headrace.storage.redis import RedisCache, connect
from tests.contract.redis_node import RedisNode
from tests.contract.tables import described, index, made
from tests.fakes.ads import make_stub as make_memory_stub
from tests.fakes.clock import FixedClock
from tests.fakes.storage import MemoryStore
from tests.worlds.functions import routes_of
from tests.worlds.requests import Context, key_of
from tests.worlds.ski_world import event

CLICKS = TableSettings(table="AdClicks", retention_days=30)
SERVER = SenderContext("ad-server", "ad-server", True, 10**17)
START = times.parse_iso("2025-11-21T10:00:00Z")


@pytest.fixture
def table(dynalite: str) -> Iterator[Any]:
    indexes = tuple(index(each.name, each.partition_key, each.sort_key) for each in ADS.indexes)
    with made(described(CLICKS.table, ADS.partition_key, ADS.sort_key, indexes=indexes)) as dynamodb:
        yield dynamodb


def _store(numbers: range, shift: int = 0) -> None:
    """Store clicks 2.5 s apart, on three ads, by ten users; a resend may have other times."""
    now = SystemClock().now()
    clicks = [
        {
            "adId": f"ad-{number % 3}",
            "userId": f"user-{number % 10}",
            "adType": "video" if number % 4 == 0 else "banner",
            "clickedAt": times.iso(START + (number + shift) * times.SECOND * 5 // 2),
            "clickId": f"click-{number:04d}",
        }
        for number in numbers
    ]
    rows = [ADS.item(ADS.accept(each, SERVER).event, now, CLICKS) for each in clicks]
    store = DynamoStore(writing_client(), parallel=4, retry_seconds=5)
    key = (ADS.partition_key, ADS.sort_key)
    assert {*store.put_many(Table(CLICKS.table, key), rows)} <= {None, EXISTS}


def _ask(
    route: Callable[..., Any], clock: FixedClock, analytics: Analytics, path: dict[str, str], query: dict[str, Any]
) -> dict[str, Any]:
    """The answer of a route of read_ads to an analyst."""
    services = AdsServices(DynamoReader(client("dynamodb")), CursorSigner(b"k" * 32), CLICKS.table, analytics)
    key = key_of(routes_of("read_ads"), route)
    given = {name: value for name, value in path.items() if f"{{{name}}}" in key}
    asked = {**event(None, given, "analytics:read", "analyst"), "routeKey": key}
    asked["queryStringParameters"] = {name: value for name, value in query.items() if value is not None}
    answer = http_handler(Api(routes_of("read_ads"), lambda: services, clock))(asked, Context())
    assert answer["statusCode"] == 200, answer
    found: dict[str, Any] = json.loads(answer["body"])
    return found


def test_pages_of_an_ad_over_its_shards_and_of_a_user_are_whole_and_in_order(table: Any) -> None:
    """P7."""
    _store(range(100))
    _store(range(100), shift=1000)
    unused: Any = None

    def read(route: Callable[..., Any], **query: Any) -> dict[str, Any]:
        return _ask(route, FixedClock(START), unused, {"adId": "ad-1", "userId": "user-3"}, query)

    for route, wanted in ((ad_clicks, range(1, 100, 3)), (user_clicks, range(3, 100, 10))):
        found, back, place = [], [], None
        while place is not None or not found:
            page = read(route, limit="7", before=place)
            found += [item["clickId"] for item in page["items"]]
            place, last = page["next"], page["previous"]
        while last is not None:
            page = read(route, limit="11", after=last)
            back[:0] = [item["clickId"] for item in page["items"]]
            last = page["previous"] if page["hasMore"] else None

        assert found == [f"click-{number:04d}" for number in reversed(wanted)]
        assert back == found[: len(back)]
        assert len(back) >= len(found) - 7


def test_counts_include_all_shards_and_are_cached(table: Any, redis_node: RedisNode) -> None:
    redis_node.start()
    connect(redis_node.settings, 1.0).flushall()
    _store(range(120))
    _store(range(40), shift=-1000)
    clock = FixedClock(START + 30 * times.MINUTE)
    cache = RedisCache.of(redis_node.settings)
    window = {"from": times.iso(START), "to": times.iso(START + 5 * times.MINUTE)}

    def query() -> tuple[dict[str, Any], dict[str, Any], float]:
        scanner = Scanner(DynamoColumns(columns_client(4)), CLICKS.table, clock, 4)
        analytics = Analytics(ADS, scanner, cache, clock)
        of_ad = _ask(stats, clock, analytics, {"adId": "ad-1"}, {**window, "step": "60"})
        of_all = _ask(top, clock, analytics, {}, {**window, "top": "2"})
        return of_ad, of_all, analytics.scanner.units

    query()
    clock.advance(12)  # after the settling time answers are cached
    (of_ad, of_all, cold), (again, all_again, warm) = query(), query()

    assert (of_ad["clicks"], of_ad["uniqueUsers"], of_ad["types"]) == (40, 10, {"banner": 30, "video": 10})
    assert [(point["clicks"], point["uniqueUsers"]) for point in of_ad["points"]] == [(8, 8)] * 5
    assert (of_all["clicks"], of_all["topAds"]) == (
        120,
        [{"adId": "ad-0", "clicks": 40}, {"adId": "ad-1", "clicks": 40}],
    )
    assert {**again, **of_ad} == of_ad
    assert all_again["topAds"] == of_all["topAds"]
    assert (cold > 0, warm) == (True, 0)


def _clicks() -> DynamoTable:
    return DynamoTable(client("dynamodb"), CLICKS.table, "clicks")


@pytest.fixture(params=["memory", "dynamodb"])
def stubs(request: pytest.FixtureRequest) -> tuple[Store, MakeStub]:
    if request.param == "memory":
        store = MemoryStore()
        return store, partial(make_memory_stub, store, CLICKS.table)
    request.getfixturevalue("table")
    return DynamoStore(writing_client()), partial(make_stub, _clicks())


def test_a_click_that_is_taken_back_becomes_a_stub_that_no_click_replaces(stubs: tuple[Store, MakeStub]) -> None:
    store, make = stubs
    table = Table(CLICKS.table, (ADS.partition_key, ADS.sort_key))
    click = {"adId": "ad-1", "userId": "ann", "adType": "banner", "clickedAt": times.iso(START), "clickId": "c-1"}
    row = ADS.item(ADS.accept(click, SERVER).event, START, CLICKS)
    stub = ADS.item(TAKEN_BACK_CLICKS.accept(click, SERVER).event, START, CLICKS)
    early = {**stub, "clickId": "c-2"}

    assert store.put_many(table, [row]) == [None]
    for _ in range(2):
        assert make(stub) == row["timestampSk"]
        assert make(early) == ""
        assert store.put_many(table, [row, {**row, "clickId": "c-2"}, stub, early]) == [EXISTS] * 4


def test_a_stub_is_in_no_index_and_nothing_of_the_click_is_left(table: Any) -> None:
    _store(range(3))
    rows = table.scan(TableName=CLICKS.table)["Items"]
    for row in rows:
        stub = {"clickId": row["clickId"]["S"], "sender": row["sender"]["S"], "takenBack": True}
        make_stub(_clicks(), stub)
    _store(range(3))

    left = table.scan(TableName=CLICKS.table)["Items"]
    assert [set(row) for row in left] == [{"clickId", "sender", "expiresAt", "takenBack", "takenFrom"}] * 3
    for each in ADS.indexes:
        assert table.scan(TableName=CLICKS.table, IndexName=each.name)["Items"] == []
