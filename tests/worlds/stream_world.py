"""A stream beside chat in memory: requests, queues, the write path, and indexes that lag."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from headrace.api.router import Api, Handler, http_handler
from headrace.core import times
from headrace.core.items import Item
from headrace.delivery.acceptor import Acceptor
from headrace.delivery.persister import Persister
from headrace.delivery.row_writer import RowWriter
from headrace.queues import names
from headrace.storage.ports import Key, Outcome, Table
from tests.fakes.clock import FixedClock
from tests.fakes.queues import MemoryPublisher, MemoryRetryLane
from tests.fakes.storage import MemoryStore
from tests.worlds.functions import routes_of
from tests.worlds.requests import Context, http_event, key_of
from tests.worlds.write_path import QUEUES, rabbit_event, sqs_event

WRITER, READER = "events:write", "analytics:read"
ADDRESS = "203.0.113.7"


class LaggingStore(MemoryStore):
    """A store whose indexes show a row only ``lag`` seconds after it was written."""

    def __init__(self, clock: FixedClock) -> None:
        super().__init__()
        self.lag = 0.0
        self.clock = clock
        self._visible: dict[Key, int] = {}

    def put_many(self, table: Table, items: Sequence[Item]) -> list[Outcome]:
        outcomes = super().put_many(table, items)
        for each, outcome in zip(items, outcomes, strict=True):
            if outcome is None:
                self._visible.setdefault(table.key_of(each), self.after_the_lag())
        return outcomes

    def after_the_lag(self) -> int:
        """When indexes show what is written now."""
        return self.clock.now() + round(self.lag * times.SECOND)

    def shown(self, table: str, _index: str | None = None) -> Iterable[Item]:
        """The rows that the indexes of a table show now."""
        return [row for key, row in self.tables[table].items() if self._visible[key] <= self.clock.now()]


class StreamWorld:
    """Requests to a stream, and its queues, with a clock that begins at ``start``.

    ``reading`` is the function that answers GET, and ``sender`` who sends by default.
    """

    reading: str
    sender: str
    http: Handler
    router: Handler
    persister: Persister

    def __init__(self, start: str) -> None:
        self.clock = FixedClock(start)
        self.broker = MemoryPublisher(names.persist_queues(QUEUES))
        self.retry = MemoryRetryLane(self.clock)
        self.store = LaggingStore(self.clock)
        self.context = Context()

    def write_with(self, acceptor: Acceptor, writer: RowWriter) -> None:
        """Accept and store events as functions do."""
        self.http = http_handler(Api(routes_of("receive_http"), lambda: acceptor, self.clock))
        self.persister = Persister(writer, self.retry, self.clock, sleep=lambda _: None)

    def read_with(self, services: object) -> Handler:
        """An environment of the function that reads."""
        return http_handler(Api(routes_of(self.reading), lambda: services, self.clock))

    def send(
        self,
        body: Any,
        route: str,
        path: dict[str, str] | None = None,
        subject: str = "",
        scope: str = WRITER,
    ) -> tuple[int, dict[str, Any]]:
        """The status and the body of the answer to a request that writes."""
        sent = http_event(route, body, user=subject or self.sender, scope=scope, path=path)
        sent["requestContext"]["http"] = {"sourceIp": ADDRESS}
        answer = self.http(sent)
        return answer["statusCode"], json.loads(answer["body"])

    def request(
        self,
        route: Callable[..., Any],
        query: dict[str, str] | None = None,
        *,
        body: object = None,
        scope: str = READER,
        subject: str = "analyst",
        router: Handler | None = None,
        **path: Any,
    ) -> tuple[int, Any]:
        """The status and the body of an answer; ``route`` is the route's function, whose part of ``path`` is sent."""
        key = key_of(routes_of(self.reading), route)
        given = {name: str(path[name]) for name in path if f"{{{name}}}" in key}
        asked = http_event(key, body, user=subject, scope=scope, path=given, query=query)
        answer = (router or self.router)(asked, self.context)
        return answer["statusCode"], json.loads(answer["body"])

    def accepted(self) -> list[bytes]:
        """The bodies on the broker since the last call."""
        return self.broker.take()

    def deliver(self, *bodies: bytes) -> None:
        """Deliver bodies to persist_events."""
        self.persister.main_lane(rabbit_event(bodies), lambda: 60.0)

    def retry_all(self) -> bool:
        """Deliver the retry lane's records to persist_events once; returns whether none is left."""
        records = list(self.retry.records)
        if records and self.persister.retry_lane(sqs_event(records))["batchItemFailures"]:
            return False
        self.retry.queue.messages.clear()
        return True
