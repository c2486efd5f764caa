"""Ads in memory: the write path, indexes that lag, a cache that may be lost, and the queries."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from headrace.api.paging.cursors import CursorSigner
from headrace.api.router import Api, Handler, http_handler
from headrace.core import times
from headrace.core.envelope import decode
from headrace.core.items import Item
from headrace.core.stream import TableSettings
from headrace.delivery.acceptor import Acceptor
from headrace.delivery.persister import Persister
from headrace.delivery.row_writer import RowWriter
from headrace.features.ads.addresses import AddressHasher
from headrace.features.ads.routes import AdsServices
from headrace.features.ads.storing import take_back
from headrace.features.ads.stream import ADS
from headrace.features.analytics.late_events import mark
from headrace.features.analytics.scanner import Scanner
from headrace.features.analytics.windows import Analytics
from headrace.queues import names
from headrace.storage.ports import Outcome, Table
from tests.fakes.ads import make_stub
from tests.fakes.clock import FixedClock
from tests.fakes.queues import MemoryPublisher, MemoryRetryLane
from tests.fakes.secrets import MemorySecrets
from tests.fakes.storage import MemoryCache, MemoryColumns, MemoryReader, MemoryStore
from tests.worlds.functions import routes_of
from tests.worlds.requests import Context, key_of
from tests.worlds.ski_world import event
from tests.worlds.write_path import QUEUES, rabbit_event, sqs_event

CLICKS = TableSettings(table="AdClicks", retention_days=30)
SETTLE = 10
START = "2025-11-21T10:00:30.000000Z"
PRODUCER, USER, READER = "events:write", "chat:write chat:read", "analytics:read"
SINGLE, BATCH, TAKE_BACK = "POST /ads/{adId}/clicks", "POST /clicks/batch", "POST /clicks/take-back"
ADDRESS = "203.0.113.7"


def click(**fields: Any) -> dict[str, Any]:
    return {"adId": "ad-1", "userId": "ann", "adType": "banner", "clickedAt": START, **fields}


class LaggingStore(MemoryStore):
    """A store whose indexes show a row only ``lag`` seconds after it was written."""

    def __init__(self, clock: FixedClock) -> None:
        super().__init__()
        self.lag = 0.0
        self._clock = clock
        self._visible: dict[tuple[Any, ...], int] = {}
        self._leaving: list[tuple[Item, int]] = []

    def put_many(self, table: Table, items: Sequence[Item]) -> list[Outcome]:
        outcomes = super().put_many(table, items)
        at = self._clock.now() + round(self.lag * times.SECOND)
        for each, outcome in zip(items, outcomes, strict=True):
            if outcome is None:
                self._visible.setdefault(table.key_of(each), at)
        return outcomes

    def take_back(self, stub: Item) -> str:
        """Make a row a stub; indexes show the click for ``lag`` seconds more."""
        key = (stub["clickId"], stub["sender"])
        row = self.tables[CLICKS.table].get(key, {})
        place = make_stub(self, CLICKS.table, stub)
        if "timestampSk" in row:
            self._leaving.append((row, self._clock.now() + round(self.lag * times.SECOND)))
        return place

    def shown(self, table: str, _index: str | None = None) -> Iterable[Item]:
        now = self._clock.now()
        found = [row for row in self.rows(table) if "timestampSk" in row]
        found = [row for row in found if self._visible[row["clickId"], row["sender"]] <= now]
        leaving = [row for row, until in self._leaving if until > now and row not in found]
        return found + leaving


class AdsWorld:
    """Everything about clicks in memory, built as bootstrap builds it."""

    def __init__(self, hasher: AddressHasher | None = None) -> None:
        self.clock = FixedClock(START)
        self.broker = MemoryPublisher(names.persist_queues(QUEUES))
        self.retry = MemoryRetryLane(self.clock)
        self.store = LaggingStore(self.clock)
        self.cache = MemoryCache(self.clock)
        hasher = hasher or AddressHasher(MemorySecrets({"key": "k" * 64}), "key")
        acceptor = Acceptor(self.broker, self.retry, QUEUES, self.clock, hash_address=hasher.hashed)
        self.http = http_handler(Api(routes_of("receive_http"), lambda: acceptor, self.clock))
        late = partial(mark, ADS, self.cache, self.clock)
        writer = RowWriter(
            self.store,
            {ADS.name: CLICKS},
            ((ADS.name, late),),
            known=((ADS.name, partial(take_back, self.store.take_back)),),
        )
        self.persister = Persister(writer, self.retry, self.clock, sleep=lambda _: None)
        self.router = self.reader()

    def reader(self) -> Handler:
        """Another environment of read_ads, with nothing in memory."""
        ranges = MemoryReader(self.store.shown, (ADS.partition_key, ADS.sort_key))
        scanner = Scanner(MemoryColumns(self.store.shown, page=3), CLICKS.table, self.clock, parallel=1)
        services = AdsServices(
            ranges,
            CursorSigner(b"k" * 32),
            CLICKS.table,
            Analytics(ADS, scanner, self.cache, self.clock),
        )
        return http_handler(Api(routes_of("read_ads"), lambda: services, self.clock))

    def post(
        self, *clicks: dict[str, Any], subject: str = "ad-server", scope: str = PRODUCER
    ) -> tuple[int, dict[str, Any]]:
        """Send clicks, one by its own route, several as a batch."""
        if len(clicks) > 1:
            return self.send({"events": clicks}, BATCH, None, subject, scope)
        body = {name: clicks[0][name] for name in clicks[0] if name != "adId"}
        return self.send(body, SINGLE, {"adId": clicks[0]["adId"]}, subject, scope)

    def take_back(
        self, *clicks: dict[str, Any], subject: str = "ad-server", scope: str = PRODUCER
    ) -> tuple[int, dict[str, Any]]:
        """Take clicks back."""
        return self.send({"events": clicks}, TAKE_BACK, None, subject, scope)

    def send(
        self, body: Any, route: str, path: dict[str, str] | None, subject: str = "ad-server", scope: str = PRODUCER
    ) -> tuple[int, dict[str, Any]]:
        sent = event(body, path, scope, subject)
        sent["requestContext"]["http"] = {"sourceIp": ADDRESS}
        answer = self.http({**sent, "routeKey": route})
        return answer["statusCode"], json.loads(answer["body"])

    def request(
        self,
        route: Callable[..., Any],
        query: dict[str, str] | None = None,
        *,
        scope: str = READER,
        subject: str = "analyst",
        router: Handler | None = None,
        **path: str,
    ) -> tuple[int, Any]:
        """The status and the body of an answer; ``route`` is the route's function."""
        router = router or self.router
        key = key_of(routes_of("read_ads"), route)
        given = {name: value for name, value in path.items() if f"{{{name}}}" in key}
        asked = {**event(None, given, scope, subject), "routeKey": key, "queryStringParameters": query}
        answer = router(asked, Context())
        return answer["statusCode"], json.loads(answer["body"])

    def walk(self, route: Callable[..., Any], query: dict[str, str], **more: Any) -> Iterator[dict[str, Any]]:
        """All clicks, page by page towards older ones."""
        status, page = self.request(route, query, **more)
        while True:
            assert status == 200, page
            yield page
            assert page["hasMore"] == (page["next"] is not None)
            if not page["hasMore"]:
                return
            status, page = self.request(route, {**query, "before": page["next"]}, **more)

    def accepted(self) -> list[bytes]:
        """The bodies on the broker since the last call."""
        return self.broker.take()

    def events(self) -> list[dict[str, Any]]:
        """The events on the broker."""
        return [each for body in self.broker.bodies() for each in decode(body).events]

    def deliver(self, *bodies: bytes) -> None:
        """Deliver bodies to persist_events."""
        self.persister.main_lane(rabbit_event(bodies), lambda: 60.0)

    def store_all(self, *clicks: dict[str, Any], **more: str) -> None:
        """Send clicks and store them."""
        assert self.post(*clicks, **more)[0] == 202
        self.deliver(*self.accepted())

    def retry_all(self) -> bool:
        """Deliver the retry lane's records to persist_events once; returns whether none is left."""
        records = list(self.retry.records)
        if records:
            kept = self.persister.retry_lane(sqs_event(records))["batchItemFailures"]
            if kept:
                return False
            self.retry.queue.messages.clear()
        return True

    def rows(self) -> list[Item]:
        """The rows of clicks, without stubs."""
        return [row for row in self.store.rows(CLICKS.table) if "timestampSk" in row]
