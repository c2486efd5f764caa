"""The ski stream in memory: the write path, an index that lags, a cache that may be lost, and the queries."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from headrace.api.router import Api, http_handler
from headrace.api.statistics import RequestTimes
from headrace.core import times
from headrace.core.errors import StoreUnavailable
from headrace.core.items import Item
from headrace.core.stream import TableSettings
from headrace.delivery.acceptor import Acceptor
from headrace.delivery.persister import Persister
from headrace.delivery.row_writer import RowWriter
from headrace.features.ski.day_counts import RideHook
from headrace.features.ski.resort_days import ResortDays
from headrace.features.ski.resorts import SeasonGate
from headrace.features.ski.routes import SkiServices
from headrace.features.ski.stream import SKI
from headrace.queues import names
from headrace.storage.ports import Failure, Table
from headrace.storage.reading import Columns, Query, RangeQuery, Rows
from tests.fakes.clock import FixedClock
from tests.fakes.queues import MemoryPublisher, MemoryRetryLane
from tests.fakes.ski import MemoryDayCounts, MemoryResorts
from tests.fakes.storage import MemoryColumns, MemoryReader, MemoryStore
from tests.worlds.functions import routes_of
from tests.worlds.requests import Context, key_of
from tests.worlds.write_path import QUEUES, rabbit_event, sqs_event

RIDES = TableSettings(table="LiftRides", retention_days=30)
START = "2025-11-21T10:00:00.000000Z"
WRITER, READER = "events:write", "analytics:read"

SINGLE = "POST /skiers/{resortID}/seasons/{seasonID}/days/{dayID}/skiers/{skierID}"
BATCH, TAKE_BACK = "POST /lift-rides/batch", "POST /lift-rides/take-back"


def ride(**fields: Any) -> dict[str, Any]:
    return {"resortID": 7, "seasonID": 2025, "dayID": 45, "skierID": 1001, "time": 217, "liftID": 21, **fields}


class LaggingIndex:
    """Shows rows ``lag`` seconds after they were written. ``reads`` counts pages."""

    def __init__(self, store: MemoryStore, clock: FixedClock) -> None:
        self.lag = 0.0
        self.reads = 0
        self.failure: Exception | None = None
        self._store = store
        self._clock = clock
        self._written: dict[tuple[str, str], int] = {}
        self._shown = MemoryColumns(lambda table, _index: self._visible(table))

    def note(self, items: Iterable[Item]) -> None:
        """Remember when rows were first written."""
        for item in items:
            self._written.setdefault((item["skierID"], item["rideSk"]), self._clock.now())

    def read(self, query: Query) -> Columns:
        assert query.index is not None
        if self.failure is not None:
            raise self.failure
        self.reads += 1
        return self._shown.read(query)

    def _visible(self, table: str) -> list[Item]:
        before = self._clock.now() - round(self.lag * times.SECOND)
        return [row for row in self._store.rows(table) if self._written[row["skierID"], row["rideSk"]] <= before]


class SkierRows(MemoryReader):
    """The rows of skiers, which are read consistently."""

    def read(self, query: RangeQuery) -> Rows:
        assert query.index is None
        assert query.consistent
        return super().read(query)


class NotingStore(MemoryStore):
    """A store that reports to its index when rows were written."""

    index: LaggingIndex

    def put_many(self, table: Table, items: Sequence[Item]) -> list[Failure | None]:
        outcomes = super().put_many(table, items)
        self.index.note(item for item, outcome in zip(items, outcomes, strict=True) if outcome is None)
        return outcomes


class SkiWorld:
    """Everything about rides in memory, built as bootstrap builds it."""

    def __init__(self) -> None:
        self.clock = FixedClock(START)
        self.broker = MemoryPublisher(names.persist_queues(QUEUES))
        self.retry = MemoryRetryLane(self.clock)
        self.store = NotingStore()
        self.index = self.store.index = LaggingIndex(self.store, self.clock)
        self.skier_rows = SkierRows(self.store.rows, ("skierID", "rideSk"))
        self.resorts = MemoryResorts()
        self.counts = MemoryDayCounts(self.clock)
        self.monotonic = 0.0
        self.context = Context(25)
        gate = SeasonGate(lambda: self.resorts, lambda: self.monotonic)
        acceptor = Acceptor(self.broker, self.retry, QUEUES, self.clock, {SKI.name: (gate,)}.__getitem__)
        self.http = http_handler(Api(routes_of("receive_http"), lambda: acceptor, self.clock))
        self.hook = RideHook(self.counts, self.resorts, self.clock)
        writer = RowWriter(self.store, {SKI.name: RIDES}, ((SKI.name, self.hook.after_store),))
        self.persister = Persister(writer, self.retry, self.clock, sleep=lambda _: None)
        days = ResortDays(self.index, RIDES.table, self.resorts, self.counts, self.clock, self.clock.advance)
        services = SkiServices(self.skier_rows, RIDES.table, days, self.resorts, RequestTimes(NoCache()))
        self.router = http_handler(Api(routes_of("read_ski"), lambda: services, self.clock))
        for season in (2024, 2025):
            self.resorts.add_season(7, season)
            self.resorts.add_season(8, season)

    def post(self, *rides: dict[str, Any], subject: str = "gate") -> tuple[int, dict[str, Any]]:
        """Send rides, one by its own route, several as a batch."""
        if len(rides) > 1:
            return self.send({"events": rides}, BATCH, subject=subject)
        path = {name: str(rides[0][name]) for name in ("resortID", "seasonID", "dayID", "skierID")}
        return self.send({name: rides[0][name] for name in rides[0] if name not in path}, SINGLE, path, subject)

    def send(
        self, body: Any, route: Any, path: dict[str, str] | None = None, subject: str = "gate"
    ) -> tuple[int, dict[str, Any]]:
        answer = self.http({**event(body, path, WRITER, subject), "routeKey": route})
        return answer["statusCode"], json.loads(answer["body"])

    def request(self, route: Callable[..., Any], query: dict[str, str] | None = None, **path: Any) -> tuple[int, Any]:
        """The status and the body of an answer to an analyst; ``route`` is the route's function."""
        asked = event(None, {name: str(value) for name, value in path.items()}, READER)
        answer = self.call(route, {**asked, "queryStringParameters": query})
        return answer["statusCode"], json.loads(answer["body"])

    def call(self, route: Callable[..., Any], asked: dict[str, Any]) -> dict[str, Any]:
        """The answer to an event of ``route``."""
        return self.router({**asked, "routeKey": key_of(routes_of("read_ski"), route)}, self.context)

    def accepted(self) -> list[bytes]:
        """The bodies on the broker since the last call."""
        return self.broker.take()

    def deliver(self, *bodies: bytes) -> None:
        """Deliver bodies to persist_events."""
        self.persister.main_lane(rabbit_event(bodies), lambda: 60.0)

    def retry_all(self) -> bool:
        """Deliver the retry lane's records to persist_events once; returns whether all were stored."""
        records = list(self.retry.records)
        if not records:
            return True
        kept = self.persister.retry_lane(sqs_event(records))["batchItemFailures"]
        if not kept:
            self.retry.queue.messages.clear()
        return not kept


class NoCache:
    """A cache that never answers."""

    def run(self, _commands: list[tuple[Any, ...]]) -> list[Any]:
        raise StoreUnavailable("no cache")


def event(body: Any, path: dict[str, str] | None, scope: str, subject: str = "gate") -> dict[str, Any]:
    claims = {"sub": subject, "username": subject, "scope": scope, "exp": "4102444800"}
    return {
        "requestContext": {"requestId": "r-1", "authorizer": {"jwt": {"claims": claims}}},
        "pathParameters": path,
        "body": None if body is None else json.dumps(body),
        "isBase64Encoded": False,
    }
