"""The whole write path in memory, built as bootstrap builds it."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable
from typing import Any

from headrace.api.rates.rate_limiter import RateLimiter
from headrace.api.router import Api, frame_handler, http_handler
from headrace.bootstrap.api import ACTIONS
from headrace.core.envelope import decode
from headrace.core.items import Item
from headrace.core.stream import Hook
from headrace.delivery.acceptor import Acceptor
from headrace.delivery.backlog import BacklogReports
from headrace.delivery.backlog_limit import BacklogLimit
from headrace.delivery.persister import Persister
from headrace.delivery.row_writer import Batch, RowWriter
from headrace.queues import names
from headrace.queues.ports import RetryRecord
from headrace.queues.sqs import to_text
from headrace.stage.registry import STREAMS
from headrace.storage.ports import Store, Table
from headrace.streams.chat.live.frames import Sending
from headrace.streams.chat.messages.gate import RoomGate
from headrace.streams.chat.rooms.rooms import CachedRooms
from headrace.streams.chat.stream import MESSAGE
from tests.fakes.chat import MemoryMemberships, MemoryRooms
from tests.fakes.queues import MemoryLivePublisher, MemoryPublisher, MemoryRetryLane, Message
from tests.fakes.storage import MemoryStore
from tests.worlds.functions import routes_of
from tests.worlds.senders import CHAT, CLOCK, TABLE

MESSAGES = Table(TABLE.table, (CHAT.partition_key, CHAT.sort_key))
QUEUES = {"chat": 4, "ski": 1, "ads": 2}
ROOM_POST = "POST /rooms/{roomId}/messages"
BATCH_POST = "POST /messages/batch"


class WritePath:
    """A broker, a retry lane and a table, with everything that writes into them."""

    def __init__(
        self,
        limiter: RateLimiter | None = None,
        backlog: BacklogLimit | None = None,
        reports: BacklogReports | None = None,
    ) -> None:
        self.broker = MemoryPublisher(names.persist_queues(QUEUES))
        self.retry = MemoryRetryLane(CLOCK)
        self.store = MemoryStore()
        self.waits: list[float] = []
        self.limiter = limiter
        self.acceptor = Acceptor(self.broker, self.retry, QUEUES, CLOCK, rate_limiter=limiter, backlog=backlog)
        self.live = MemoryLivePublisher()
        self.gate = RoomGate(CachedRooms(MemoryRooms()), MemoryMemberships())
        writer = RowWriter(self.store, {"chat": TABLE, "probe": TABLE})
        self.persister = Persister(writer, self.retry, CLOCK, sleep=self.waits.append, backlog=reports)

    def frame(self, action: str, event: dict[str, Any], scope_prefix: str = "") -> dict[str, Any]:
        """The answer of receive_frame to a frame of ``action``."""
        event["requestContext"]["routeKey"] = action
        services = Sending(STREAMS[MESSAGE], self.acceptor, self.gate, self.live, self.limiter)
        parts = (lambda: services, CLOCK, lambda: scope_prefix, lambda: self.limiter)
        return frame_handler(Api(routes_of("receive_frame"), *parts), actions=ACTIONS)(event)

    def post(self, event: dict[str, Any]) -> dict[str, Any]:
        """The answer of receive_http to a request."""
        parts = (lambda: self.acceptor, CLOCK, str, lambda: self.limiter)
        return http_handler(Api(routes_of("receive_http"), *parts))(event)

    def published(self) -> list[dict[str, Any]]:
        """Every event on the broker."""
        return [event for body in self.broker.bodies() for event in decode(body).events]

    def retried(self) -> list[dict[str, Any]]:
        """Every event in the retry lane."""
        return [event for record in self.retry.records for event in decode(record.body).events]

    def rows(self) -> list[Item]:
        return self.store.rows(TABLE.table)

    def persist(self, *bodies: bytes | str, seconds: float = 60) -> None:
        """Deliver ``bodies`` to the main lane, as RabbitMQ's trigger does; a text is passed on unchanged."""
        self.persister.main_lane(rabbit_event(bodies), lambda: seconds - sum(self.waits))

    def persist_retry(self, *records: RetryRecord, received: int = 1) -> list[str]:
        """Deliver records to the retry lane; returns the ids of the failed ones."""
        answer = self.persister.retry_lane(sqs_event(records, received))
        return [failure["itemIdentifier"] for failure in answer["batchItemFailures"]]


def rabbit_event(bodies: Iterable[bytes | str]) -> dict[str, Any]:
    records = [
        {"data": body if isinstance(body, str) else base64.b64encode(body).decode(), "redelivered": False}
        for body in bodies
    ]
    return {"eventSource": "aws:rmq", "rmqMessagesByQueue": {"persist.chat.0::/": records}}


def sqs_event(records: Iterable[RetryRecord], received: int = 1) -> dict[str, Any]:
    return {"Records": [_sqs_record(index, record, received) for index, record in enumerate(records)]}


def received_event(messages: Iterable[Message]) -> dict[str, Any]:
    """The SQS event of records received from the retry lane."""
    return {
        "Records": [
            {**_sqs_record(0, each.record, each.received), "messageId": each.id, "receiptHandle": each.receipt}
            for each in messages
        ]
    }


def _sqs_record(index: int, record: RetryRecord, received: int) -> dict[str, Any]:
    body, attributes = to_text(record)
    return {
        "messageId": f"sqs-{index}",
        "receiptHandle": f"receipt-{index}",
        "body": body,
        "attributes": {"ApproximateReceiveCount": str(received)},
        "messageAttributes": {name: {"stringValue": value, "dataType": "String"} for name, value in attributes.items()},
        "eventSource": "aws:sqs",
    }


def frame_event(
    body: object, *, subject: str = "alice", scope: str = "chat:write", exp: int = 4_102_444_800
) -> dict[str, Any]:
    return {
        "requestContext": {
            "routeKey": "$default",
            "requestId": "r-1",
            "connectionId": "c-1",
            "authorizer": {"sub": subject, "username": subject.title(), "scope": scope, "exp": str(exp)},
        },
        "body": body if isinstance(body, str) else json.dumps(body),
    }


def chat_batch(events: Iterable[dict[str, Any]], now: int) -> Batch:
    """The rows of chat's events, to be stored together."""
    return Batch((STREAMS[MESSAGE].kind_name(event), row_of(event, now)) for event in events)


def row_of(event: dict[str, Any], now: int) -> Item:
    """The row of an event of chat."""
    kind = STREAMS[MESSAGE].kind_of(event)
    return (CHAT if kind is None else kind).item(dict(event), now, TABLE)


def put_or_find(store: Store, batch: Batch, known: Hook) -> None:
    """Store a batch as the writer of rows does; ``known`` is the hook of messages."""
    batch.run([(MESSAGE, known)], batch.put(store, MESSAGES))
