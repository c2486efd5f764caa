"""The queries about clicks against the local stage's DynamoDB and Redis."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from headrace.analytics.requests import StepQuery, TopQuery
from headrace.analytics.scanner import Deadline, Scanner
from headrace.analytics.windows import Analytics
from headrace.api.paging.cursors import CursorSigner
from headrace.api.paging.request import PageRequest
from headrace.core import times
from headrace.core.caller import Caller, SenderContext
from headrace.core.stream import TableSettings
from headrace.core.times import SystemClock
from headrace.runtime.aws import client
from headrace.storage.dynamodb.batch_writer import DynamoStore, writing_client
from headrace.storage.dynamodb.readers import DynamoColumns, DynamoReader, columns_client
from headrace.storage.ports import Table
from headrace.storage.redis import RedisCache, connect
from headrace.streams.ads.history import ClickHistory
from headrace.streams.ads.routes import stats_body, top_body
from headrace.streams.ads.stream import ADS
from tests.contract.emulators import sdk
from tests.contract.redis_node import RedisNode
from tests.fakes.clock import FixedClock

CLICKS = TableSettings(table="AdClicks", retention_days=30)
ANALYST = Caller("analyst", "analyst", frozenset({"analytics:read"}), 10**12)
SERVER = SenderContext("ad-server", "ad-server", True, 10**17)
START = times.parse_iso("2025-11-21T10:00:00Z")


@pytest.fixture
def table(dynalite: str) -> Iterator[Any]:
    dynamodb = sdk("dynamodb")
    indexes = [
        {
            "IndexName": index.name,
            "KeySchema": _schema(index.partition_key, index.sort_key),
            "Projection": {"ProjectionType": "ALL"},
        }
        for index in ADS.indexes
    ]
    names = {ADS.partition_key, ADS.sort_key, "timestampSk", *(index.partition_key for index in ADS.indexes)}
    dynamodb.create_table(
        TableName=CLICKS.table,
        KeySchema=_schema(ADS.partition_key, ADS.sort_key),
        AttributeDefinitions=[{"AttributeName": each, "AttributeType": "S"} for each in sorted(names)],
        GlobalSecondaryIndexes=indexes,
        BillingMode="PAY_PER_REQUEST",
    )
    dynamodb.get_waiter("table_exists").wait(TableName=CLICKS.table, WaiterConfig={"Delay": 1})
    yield dynamodb
    dynamodb.delete_table(TableName=CLICKS.table)
    dynamodb.get_waiter("table_not_exists").wait(TableName=CLICKS.table, WaiterConfig={"Delay": 1})
    dynamodb.close()


def _schema(partition: str, sort: str) -> list[dict[str, str]]:
    return [{"AttributeName": partition, "KeyType": "HASH"}, {"AttributeName": sort, "KeyType": "RANGE"}]


def _store(numbers: range, shift: int = 0) -> None:
    """Store clicks a second apart, on three ads, by ten users; a resend may have other times."""
    now = SystemClock().now()
    clicks = [
        {
            "adId": f"ad-{number % 3}",
            "userId": f"user-{number % 10}",
            "adType": "video" if number % 4 == 0 else "banner",
            "clickedAt": times.iso(START + (number + shift) * times.SECOND),
            "clickId": f"click-{number:04d}",
        }
        for number in numbers
    ]
    rows = [ADS.item(ADS.accept(each, SERVER).event, now, CLICKS) for each in clicks]
    store = DynamoStore(writing_client(), parallel=4, retry_seconds=5)
    key = (ADS.partition_key, ADS.sort_key)
    assert store.put_many(Table(CLICKS.table, key, ADS.insert_only), rows) == [None] * len(rows)


def test_pages_of_an_ad_over_its_shards_and_of_a_user_are_whole_and_in_order(table: Any) -> None:
    """P7."""
    _store(range(300))
    _store(range(300), shift=1000)
    history = ClickHistory(DynamoReader(client("dynamodb")), CursorSigner(b"k" * 32), CLICKS.table, SystemClock())

    for read, value, wanted in ((history.ad, "ad-1", range(1, 300, 3)), (history.user, "user-3", range(3, 300, 10))):
        found, back, place = [], [], None
        while place is not None or not found:
            page = read(ANALYST, value, PageRequest(limit=7, before=place))
            found += [json.loads(item)["clickId"] for item in page.items]
            place, last = page.next, page.previous
        while last is not None:
            page = read(ANALYST, value, PageRequest(limit=11, after=last))
            back[:0] = [json.loads(item)["clickId"] for item in page.items]
            last = page.previous if page.has_more else None

        assert found == [f"click-{number:04d}" for number in reversed(wanted)]
        assert back == found[: len(back)]
        assert len(back) >= len(found) - 7


def test_counts_include_all_shards_and_are_cached(table: Any, redis_node: RedisNode) -> None:
    redis_node.start()
    connect(redis_node.settings, 1.0).flushall()
    _store(range(300))
    _store(range(100), shift=-1000)
    clock = FixedClock(START + 30 * times.MINUTE)
    cache = RedisCache.of(redis_node.settings)
    window = {"from": times.iso(START), "to": times.iso(START + 5 * times.MINUTE)}

    def query() -> tuple[dict[str, Any], dict[str, Any], float]:
        scanner = Scanner(DynamoColumns(columns_client(4)), CLICKS.table, 8, clock, 4)
        analytics = Analytics(scanner, cache, clock, 10)
        stats = StepQuery.model_validate({**window, "step": "60"}).of(ADS, ("adId", "ad-1"))
        top = TopQuery.model_validate({**window, "top": "2"}).of(ADS)
        deadline = Deadline(60)
        found = stats_body(analytics, stats, deadline), top_body(analytics, top, deadline)
        return *found, analytics.units

    query()
    clock.advance(12)  # after the settling time answers are cached
    (stats, top, cold), (again, top_again, warm) = query(), query()

    assert (stats["clicks"], stats["uniqueUsers"], stats["types"]) == (100, 10, {"banner": 75, "video": 25})
    assert [(point["clicks"], point["uniqueUsers"]) for point in stats["points"]] == [(20, 10)] * 5
    assert (top["clicks"], top["topAds"]) == (300, [{"adId": "ad-0", "clicks": 100}, {"adId": "ad-1", "clicks": 100}])
    assert {**again, **stats} == stats
    assert top_again["topAds"] == top["topAds"]
    assert (cold > 0, warm) == (True, 0)
