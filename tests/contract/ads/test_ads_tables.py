"""Clicks that are taken back, against the local stage's DynamoDB."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from headrace.core import times
from headrace.core.sender import SenderContext
from headrace.core.stream import TableSettings
from headrace.core.times import SystemClock
from headrace.features.ads.accepting import TAKEN_BACK_CLICKS
from headrace.features.ads.storing import MakeStub, make_stub
from headrace.features.ads.stream import ADS
from headrace.runtime.aws import client
from headrace.storage.dynamodb.batch_writer import DynamoStore, writing_client
from headrace.storage.dynamodb.client import DynamoTable
from headrace.storage.ports import EXISTS, Store, Table
from tests.contract.tables import described, index, made
from tests.fakes.ads import make_stub as make_memory_stub
from tests.fakes.storage import MemoryStore

CLICKS = TableSettings(table="AdClicks", retention_days=30)
SERVER = SenderContext("ad-server", "ad-server", True, 10**17)
START = times.parse_iso("2025-11-21T10:00:00Z")


@pytest.fixture
def table(dynalite: str) -> Iterator[Any]:
    indexes = tuple(index(each.name, each.partition_key, each.sort_key) for each in ADS.indexes)
    with made(described(CLICKS.table, ADS.partition_key, ADS.sort_key, indexes=indexes)) as dynamodb:
        yield dynamodb


def _store() -> None:
    """Store three clicks."""
    click = {"adId": "ad-1", "userId": "ann", "adType": "video", "clickedAt": times.iso(START)}
    clicks = [{**click, "clickId": f"click-{number}"} for number in range(3)]
    rows = [ADS.item(ADS.accept(each, SERVER).event, SystemClock().now(), CLICKS) for each in clicks]
    key = (ADS.partition_key, ADS.sort_key)
    assert {*DynamoStore(writing_client()).put_many(Table(CLICKS.table, key), rows)} <= {None, EXISTS}


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
    _store()
    rows = table.scan(TableName=CLICKS.table)["Items"]
    for row in rows:
        stub = {"clickId": row["clickId"]["S"], "sender": row["sender"]["S"], "takenBack": True}
        make_stub(_clicks(), stub)
    _store()

    left = table.scan(TableName=CLICKS.table)["Items"]
    assert [set(row) for row in left] == [{"clickId", "sender", "expiresAt", "takenBack", "takenFrom"}] * 3
    for each in ADS.indexes:
        assert table.scan(TableName=CLICKS.table, IndexName=each.name)["Items"] == []
