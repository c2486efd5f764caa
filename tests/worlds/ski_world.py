"""The ski stream in memory: the write path, an index that lags, a cache that may be lost, and the queries."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from headrace.api.statistics import RequestTimes
from headrace.core.errors import StoreUnavailable
from headrace.core.items import Item
from headrace.core.stream import TableSettings
from headrace.delivery.acceptor import Acceptor
from headrace.delivery.row_writer import RowWriter
from headrace.features.ski.day_counts import RideHook
from headrace.features.ski.resort_days import ResortDays
from headrace.features.ski.resorts import SeasonGate
from headrace.features.ski.routes import SkiServices
from headrace.features.ski.stream import SKI
from headrace.storage.reading import RangeQuery, Rows
from tests.fakes.ski import MemoryDayCounts, MemoryResorts
from tests.fakes.storage import MemoryColumns, MemoryReader
from tests.worlds.requests import Context
from tests.worlds.stream_world import StreamWorld
from tests.worlds.write_path import QUEUES

RIDES = TableSettings(table="LiftRides", retention_days=30)
START = "2025-11-21T10:00:00.000000Z"

SINGLE = "POST /skiers/{resortID}/seasons/{seasonID}/days/{dayID}/skiers/{skierID}"
BATCH, TAKE_BACK = "POST /lift-rides/batch", "POST /lift-rides/take-back"


def ride(**fields: Any) -> dict[str, Any]:
    return {"resortID": 7, "seasonID": 2025, "dayID": 45, "skierID": 1001, "time": 217, "liftID": 21, **fields}


class SkierRows(MemoryReader):
    """The rows of skiers, which are read consistently."""

    def read(self, query: RangeQuery) -> Rows:
        assert query.index is None
        assert query.consistent
        return super().read(query)


class SkiWorld(StreamWorld):
    """Everything about rides in memory, built as bootstrap builds it."""

    reading, sender = "read_ski", "gate"

    def __init__(self) -> None:
        super().__init__(START)
        self.index = MemoryColumns(self._shown)
        self.skier_rows = SkierRows(self.store.rows, ("skierID", "rideSk"))
        self.resorts = MemoryResorts()
        self.counts = MemoryDayCounts(self.clock)
        self.monotonic = 0.0
        self.context = Context(25)
        gate = SeasonGate(lambda: self.resorts, lambda: self.monotonic)
        self.hook = RideHook(self.counts, self.resorts, self.clock)
        self.write_with(
            Acceptor(self.broker, self.retry, QUEUES, self.clock, {SKI.name: (gate,)}.__getitem__),
            RowWriter(self.store, {SKI.name: RIDES}, ((SKI.name, self.hook.after_store),)),
        )
        days = ResortDays(self.index, RIDES.table, self.resorts, self.counts, self.clock, self.clock.advance)
        services = SkiServices(self.skier_rows, RIDES.table, days, self.resorts, RequestTimes(NoCache()))
        self.router = self.read_with(services)
        for season in (2024, 2025):
            self.resorts.add_season(7, season)
            self.resorts.add_season(8, season)

    def post(self, *rides: dict[str, Any], subject: str = "") -> tuple[int, dict[str, Any]]:
        """Send rides, one by its own route, several as a batch."""
        if len(rides) > 1:
            return self.send({"events": rides}, BATCH, subject=subject)
        path = {name: str(rides[0][name]) for name in ("resortID", "seasonID", "dayID", "skierID")}
        return self.send({name: rides[0][name] for name in rides[0] if name not in path}, SINGLE, path, subject)

    def _shown(self, table: str, index: str | None) -> Iterable[Item]:
        assert index is not None
        return self.store.shown(table)


class NoCache:
    """A cache that never answers."""

    def run(self, _commands: list[tuple[Any, ...]]) -> list[Any]:
        raise StoreUnavailable("no cache")
