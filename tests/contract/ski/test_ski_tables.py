"""Resorts in memory and in the local stage's DynamoDB; and the queries about rides against its tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from headrace.api.statistics import RequestTimes
from headrace.core.caller import Caller
from headrace.core.sender import SenderContext
from headrace.core.stream import TableSettings
from headrace.core.times import SystemClock
from headrace.features.ski import routes, skiers
from headrace.features.ski.day_counts import RideHook
from headrace.features.ski.dynamodb import Resorts
from headrace.features.ski.redis import DayCounts
from headrace.features.ski.resort_days import LAG, ResortDays
from headrace.features.ski.resorts import Resort
from headrace.features.ski.stream import RESORT_DAY_INDEX, SKI, ResortDay
from headrace.runtime.aws import client
from headrace.runtime.threads import Parallel
from headrace.storage.dynamodb.batch_writer import DynamoStore, writing_client
from headrace.storage.dynamodb.readers import DynamoColumns, DynamoReader
from headrace.storage.ports import EXISTS, Table
from headrace.storage.redis import RedisCache, connect
from tests.contract.redis_node import RedisNode
from tests.contract.tables import described, index, made
from tests.fakes.clock import FixedClock
from tests.fakes.ski import MemoryResorts
from tests.worlds.played_dynamodb import play_responses, refusal
from tests.worlds.requests import request_of
from tests.worlds.ski_world import NoCache

RESORTS, RIDES = "Resorts", "LiftRides"
INDEX = RESORT_DAY_INDEX


@pytest.fixture
def tables(dynalite: str) -> Iterator[Any]:
    by_day = index(INDEX.name, INDEX.partition_key, INDEX.sort_key, projected=("expiresAt",))
    rides = described(RIDES, SKI.partition_key, SKI.sort_key, indexes=(by_day,))
    with made(described(RESORTS, "resortID"), rides) as dynamodb:
        yield dynamodb


@pytest.fixture(params=["memory", "dynamodb"])
def resorts(request: pytest.FixtureRequest) -> Resorts:
    if request.param == "memory":
        return MemoryResorts()
    request.getfixturevalue("tables")
    return Resorts(client("dynamodb"), RESORTS)


def test_adding_a_season_twice_keeps_one_and_the_latest_name(resorts: Resorts) -> None:
    assert resorts.get(7) == Resort(7)
    resorts.add_season(7, 2025, "Mission Ridge")
    resorts.add_season(7, 2025)
    resorts.add_season(7, 2024)

    assert resorts.get(7) == Resort(7, "Mission Ridge", frozenset({2024, 2025}))


def test_every_resort_with_a_season_is_listed_by_id(resorts: Resorts) -> None:
    for number in (10, 9, 200):
        resorts.add_season(number, 2025)
    resorts.invalidate_counts([3], 1000)

    assert [resort.resort_id for resort in resorts.every()] == [9, 10, 200]


def test_invalidation_never_moves_back_and_leaves_seasons_alone(resorts: Resorts) -> None:
    resorts.add_season(7, 2025)
    resorts.invalidate_counts([7, 8], 2000)
    resorts.invalidate_counts([7], 1000)

    assert resorts.get(7) == Resort(7, None, frozenset({2025}), 2000)
    assert resorts.get(8) == Resort(8, None, frozenset(), 2000)


def test_ride_queries_are_correct_on_real_tables_and_a_real_cache(tables: Any, redis_node: RedisNode) -> None:
    redis_node.start()
    connect(redis_node.settings, 1.0).flushall()
    clock = FixedClock(SystemClock().now())
    counts = DayCounts(RedisCache.of(redis_node.settings))
    dynamodb, refused = client("dynamodb"), list[bool]()
    play_responses(dynamodb, lambda body: refusal("Refused") if refused and "KeyConditionExpression" in body else None)
    resorts = Resorts(dynamodb, RESORTS)
    hook = RideHook(counts, resorts, clock)
    days = ResortDays(DynamoColumns(dynamodb), RIDES, resorts, counts, clock, parallel=Parallel(8, "days"))
    day = ResortDay(7, 2025, 45)
    resorts.add_season(7, 2025)

    _store(clock, range(1, 301), hook)
    first = days.counts(day, [21])
    clock.advance(LAG / 1000)
    confirmed = days.counts(day, [21])
    _store(clock, range(250, 351), hook)
    refused.append(True)
    last = days.counts(day, [21, 22])
    refused.clear()

    assert [each.skiers for each in (first, confirmed, last)] == [300, 300, 350]
    assert last.lifts == {21: 350, 22: 0}
    assert last.hours[3] == sum(last.hours) == 350
    services = routes.SkiServices(DynamoReader(dynamodb), RIDES, days, resorts, RequestTimes(NoCache()))
    path = skiers.SkierSeasonPath(seasonID=2025, skierID=7)
    found = skiers.days(services, request_of(Caller("a", "a", frozenset(), 0), clock.now(), path))
    assert found["days"] == [{"dayID": 45, "vertical": 210, "lifts": [21]}]


def _store(clock: FixedClock, skiers: range, hook: RideHook) -> None:
    gate = SenderContext("gate", "gate", True, clock.now())
    settings = TableSettings(table=RIDES, retention_days=30)
    ride = {"resortID": 7, "seasonID": 2025, "dayID": 45, "time": 217, "liftID": 21}
    rows = [SKI.item(SKI.accept({**ride, "skierID": each}, gate).event, clock.now(), settings) for each in skiers]
    store = DynamoStore(writing_client(), parallel=2, retry_seconds=5)
    assert {*store.put_many(Table(RIDES, (SKI.partition_key, SKI.sort_key)), rows)} <= {None, EXISTS}
    assert hook.after_store(rows) == [None] * len(rows)
