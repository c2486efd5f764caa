"""Measures questions that are asked first, with nothing in the cache: ``python -m bench.analytics.first_questions``.

The top ads of 62,000 clicks of a minute, and the rides per hour of a resort's day with 13,000 rides: the sizes of the
demos. Starts the stage's DynamoDB emulator on disk, and Redis. The question is asked through the route's whole function
with open connections; the cache and the memory of the function are emptied before each round. The peer reads the same
pages with boto3's Query, in as many threads, and uses no row.
"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from bench.analytics.world import empty_cache
from bench.requests import answer_of, http_event
from bench.rounds import Series, command, figure, head, ratio, row
from bench.rows import fill
from bench.services import create_table, database, redis_cache
from loadtest.ads.clicks import click_of

MINUTE_START = int(time.time() // 60 - 60) * 60_000_000
"""An hour ago: no row has expired, and the minute is kept as a slot."""
MINUTE_END = MINUTE_START + 60_000_000
RESORT, SEASON, DAY = 7, 2025, 45
LIFTS, SKIERS = 40, 2_000
SCOPE = "analytics:read"
PARALLEL = 8
"""Pages that the routes and the peer read at once."""
Ask = Callable[[], dict[str, Any]]


def watched_reader(queries: list[dict[str, Any]]) -> Any:
    """A reader of columns that adds the parameters of its queries to ``queries``."""
    from headrace.storage.dynamodb.readers import DynamoColumns, columns_client

    def keep(params: dict[str, Any], **_: Any) -> None:
        queries.append(dict(params))

    dynamodb = columns_client(PARALLEL)
    dynamodb.meta.events.register("provide-client-params.dynamodb.Query", keep)
    return DynamoColumns(dynamodb)


def store(stream: Any, table: str, events: Iterable[dict[str, Any]]) -> None:
    """Store events of a trusted producer in the table of their stream."""
    from headrace.core.caller import SenderContext
    from headrace.core.stream import TableSettings

    sender, settings = SenderContext("bench", "bench", True, MINUTE_END), TableSettings(table=table, retention_days=90)
    rows = (stream.item(stream.accept(each, sender).event, MINUTE_START, settings) for each in events)
    fill(table, (stream.partition_key, stream.sort_key), rows)


def fill_clicks(count: int) -> None:
    """Store clicks of one minute: on 200 ads, by 5,000 users, of five types."""
    from headrace.features.ads.stream import ADS

    chance = random.Random(1)
    clicks = (click_of(1, number, MINUTE_START + number * 60_000_000 // count, chance) for number in range(count))
    store(ADS, "AdClicks", (click.item() for click in clicks))


def fill_rides(count: int) -> None:
    """Store rides of one day of a resort."""
    from headrace.features.ski.stream import SKI

    chance = random.Random(1)
    rides = (
        {
            "resortID": RESORT,
            "seasonID": SEASON,
            "dayID": DAY,
            "skierID": chance.randrange(1, SKIERS),
            "time": chance.randrange(480, 1020),
            "liftID": chance.randrange(1, LIFTS),
            "rideID": f"ride-{number}",
        }
        for number in range(count)
    )
    store(SKI, "LiftRides", rides)


def top_ads(count: int, cache_port: int, queries: list[dict[str, Any]]) -> Ask:
    """Ask for the top ads of the minute."""
    from headrace.api.router import Api, Route, http_handler
    from headrace.core.times import SystemClock, iso
    from headrace.features.ads.routes import AdsServices, top
    from headrace.features.ads.stream import ADS
    from headrace.features.analytics.requests import TopQuery
    from headrace.features.analytics.scanner import Scanner
    from headrace.features.analytics.windows import Analytics

    clock, cache = SystemClock(), redis_cache(cache_port)
    scanner = Scanner(watched_reader(queries), "AdClicks", clock, PARALLEL)
    unused: Any = None  # by this route

    def ask() -> dict[str, Any]:
        services = AdsServices(unused, unused, "", Analytics(ADS, scanner, cache, clock))
        window = {"from": iso(MINUTE_START), "to": iso(MINUTE_END)}
        router = http_handler(Api({"GET /ads/top": Route(top, query=TopQuery)}, lambda: services, clock))
        return answer_of(router, http_event("GET /ads/top", SCOPE, window))

    if ask()["clicks"] != count:
        raise SystemExit(f"clicks are missing in the answer: {ask()}")
    return ask


def rides_per_hour(count: int, cache_port: int, queries: list[dict[str, Any]]) -> Ask:
    """Ask for the rides of each hour of the day."""
    from headrace.api.router import Api, Route, http_handler
    from headrace.core.times import SystemClock
    from headrace.features.ski.dynamodb import DynamoResorts
    from headrace.features.ski.redis import RedisDayCounts
    from headrace.features.ski.resort_days import ResortDays
    from headrace.features.ski.routes import ResortDayPath, SkiServices, hours
    from headrace.runtime.aws import client as lean
    from headrace.runtime.threads import Parallel

    clock = SystemClock()
    resorts = DynamoResorts(lean("dynamodb"), "Resorts")
    resorts.add_season(RESORT, SEASON, "Mission Ridge")
    counts = RedisDayCounts(redis_cache(cache_port))
    days = ResortDays(
        watched_reader(queries), "LiftRides", resorts, counts, clock, parallel=Parallel(PARALLEL, "resort-days")
    )
    unused: Any = None  # this route does not use them
    services = SkiServices(unused, "LiftRides", days, resorts, unused)
    route = "GET /resorts/{resortID}/seasons/{seasonID}/days/{dayID}/hours"
    router = http_handler(Api({route: Route(hours, path=ResortDayPath)}, lambda: services, clock))
    path = {"resortID": str(RESORT), "seasonID": str(SEASON), "dayID": str(DAY)}

    def ask() -> dict[str, Any]:
        return answer_of(router, http_event(route, SCOPE, path=path))

    if sum(each["rides"] for each in ask()["hours"]) != count:
        raise SystemExit("rides are missing in the answer")
    return ask


def bare(database: Any, queries: list[dict[str, Any]]) -> Callable[[], None]:
    """Sends the same queries with boto3's client."""

    def read() -> None:
        with ThreadPoolExecutor(PARALLEL) as pool:
            list(pool.map(lambda query: database.query(**query), queries))

    return read


def measure(ask: Ask, read: Callable[[], None], empty: Callable[[], None], rounds: int) -> list[tuple[float, float]]:
    """Milliseconds of each round: to ask with an empty cache, and to ``read`` the same pages after it."""
    seen = []
    for _ in range(rounds):
        empty()
        began = time.perf_counter()
        ask()
        asked = time.perf_counter()
        read()
        seen.append((1000 * (asked - began), 1000 * (time.perf_counter() - asked)))
    return seen


def main(rounds: int, clicks: int, rides: int) -> list[Series]:
    import headrace.bootstrap  # noqa: F401 - sets what an environment sets

    with database(of_the_stage=True, POWERTOOLS_METRICS_DISABLED="true") as found:
        for name in ("AdClicks", "LiftRides", "Resorts"):
            create_table(found.client(), name)
        began = time.monotonic()
        fill_clicks(clicks)
        fill_rides(rides)
        print(f"{clicks + rides:,} rows written in {time.monotonic() - began:.1f} s; {rounds} rounds\n")
        head("asked first", "ms", "bare Query, ms", "ratio", "pages")
        series: list[Series] = []
        for what, ask_for, count in (("top ads", top_ads, clicks), ("rides per hour", rides_per_hour, rides)):
            queries: list[dict[str, Any]] = []
            ask = ask_for(count, found.cache_port, queries)
            asked = list(queries)
            read = bare(found.client(), asked)
            times, peer = zip(*measure(ask, read, lambda: empty_cache(found.cache_port), rounds), strict=True)
            against = ratio(f"{what} / bare Query", times, peer, "lower")
            medians = [f"{statistics.median(each):.0f}" for each in (times, peer)]
            row(what, *medians, f"{against.median:.2f}×", str(len(asked)))
            series += [figure(what, times, "ms"), against]
        return series


if __name__ == "__main__":
    command(__doc__, main, 5, clicks=62_000, rides=13_000)
