"""Ads in memory: the write path, indexes that lag, a cache that may be lost, and the queries."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

from headrace.api.paging.cursors import CursorSigner
from headrace.api.router import Handler
from headrace.core.envelope import decode
from headrace.core.items import Item
from headrace.core.stream import TableSettings
from headrace.delivery.acceptor import Acceptor
from headrace.delivery.row_writer import RowWriter
from headrace.features.ads.addresses import AddressHasher
from headrace.features.ads.routes import AdsServices
from headrace.features.ads.storing import take_back
from headrace.features.ads.stream import ADS
from headrace.features.analytics.late_events import mark
from headrace.features.analytics.scanner import Scanner
from headrace.features.analytics.windows import Analytics
from tests.fakes.ads import make_stub
from tests.fakes.clock import FixedClock
from tests.fakes.secrets import MemorySecrets
from tests.fakes.storage import MemoryCache, MemoryColumns, MemoryReader
from tests.worlds.stream_world import WRITER, LaggingStore, StreamWorld
from tests.worlds.write_path import QUEUES

CLICKS = TableSettings(table="AdClicks", retention_days=30)
SETTLE = 10
START = "2025-11-21T10:00:30.000000Z"
USER = "chat:write chat:read"
SINGLE, BATCH, TAKE_BACK = "POST /ads/{adId}/clicks", "POST /clicks/batch", "POST /clicks/take-back"


def click(**fields: Any) -> dict[str, Any]:
    return {"adId": "ad-1", "userId": "ann", "adType": "banner", "clickedAt": START, **fields}


class ClickStore(LaggingStore):
    """The table of clicks. A click that is taken back stays in indexes for the lag."""

    def __init__(self, clock: FixedClock) -> None:
        super().__init__(clock)
        self._leaving: list[tuple[Item, int]] = []

    def take_back(self, stub: Item) -> str:
        """Make a row a stub."""
        row = self.tables[CLICKS.table].get((stub["clickId"], stub["sender"]), {})
        place = make_stub(self, CLICKS.table, stub)
        if "timestampSk" in row:
            self._leaving.append((row, self.after_the_lag()))
        return place

    def shown(self, table: str, _index: str | None = None) -> Iterable[Item]:
        now = self.clock.now()
        found = [row for row in super().shown(table) if "timestampSk" in row]
        return found + [row for row, until in self._leaving if until > now and row not in found]


class AdsWorld(StreamWorld):
    """Everything about clicks in memory, built as bootstrap builds it."""

    reading, sender = "read_ads", "ad-server"

    def __init__(self, hasher: AddressHasher | None = None) -> None:
        super().__init__(START)
        self.store: ClickStore = ClickStore(self.clock)
        self.cache = MemoryCache(self.clock)
        hasher = hasher or AddressHasher(MemorySecrets({"key": "k" * 64}), "key")
        late = partial(mark, ADS, self.cache, self.clock)
        known = ((ADS.name, partial(take_back, self.store.take_back)),)
        self.write_with(
            Acceptor(self.broker, self.retry, QUEUES, self.clock, hash_address=hasher.hashed),
            RowWriter(self.store, {ADS.name: CLICKS}, ((ADS.name, late),), known=known),
        )
        self.router = self.reader()

    def reader(self) -> Handler:
        """Another environment of read_ads, with nothing in memory."""
        ranges = MemoryReader(self.store.shown, (ADS.partition_key, ADS.sort_key))
        scanner = Scanner(MemoryColumns(self.store.shown, page=3), CLICKS.table, self.clock, parallel=1)
        analytics = Analytics(ADS, scanner, self.cache, self.clock)
        return self.read_with(AdsServices(ranges, CursorSigner(b"k" * 32), CLICKS.table, analytics))

    def post(self, *clicks: dict[str, Any], subject: str = "", scope: str = WRITER) -> tuple[int, dict[str, Any]]:
        """Send clicks, one by its own route, several as a batch."""
        if len(clicks) > 1:
            return self.send({"events": clicks}, BATCH, None, subject, scope)
        body = {name: clicks[0][name] for name in clicks[0] if name != "adId"}
        return self.send(body, SINGLE, {"adId": clicks[0]["adId"]}, subject, scope)

    def take_back(self, *clicks: dict[str, Any], subject: str = "", scope: str = WRITER) -> tuple[int, dict[str, Any]]:
        """Take clicks back."""
        return self.send({"events": clicks}, TAKE_BACK, None, subject, scope)

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

    def events(self) -> list[dict[str, Any]]:
        """The events on the broker."""
        return [each for body in self.broker.bodies() for each in decode(body).events]

    def store_all(self, *clicks: dict[str, Any], **more: str) -> None:
        """Send clicks and store them."""
        assert self.post(*clicks, **more)[0] == 202
        self.deliver(*self.accepted())

    def rows(self) -> list[Item]:
        """The rows of clicks, without stubs."""
        return [row for row in self.store.rows(CLICKS.table) if "timestampSk" in row]
