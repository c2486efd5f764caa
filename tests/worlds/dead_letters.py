"""Dead letters: all three lanes in memory, and the routes of operators on them."""

from __future__ import annotations

import json
from typing import Any

from headrace.api.router import Api, http_handler
from headrace.features.edits.deleted_texts import DeletedTexts
from headrace.features.operations.dead_letters import DeadLetters
from headrace.queues.ports import RetryRecord
from tests.fakes.changes import MemoryChanges
from tests.fakes.queues import MemoryDeadLane
from tests.worlds.functions import routes_of
from tests.worlds.requests import http_event
from tests.worlds.senders import CLOCK, TABLE
from tests.worlds.write_path import WritePath, received_event

LIST = "GET /dead-letters"
REDRIVE = "POST /dead-letters/redrive"
DISCARD = "POST /dead-letters/discard"
ROUTES = routes_of("manage_dead_letters")


class Dead(WritePath):
    """All three lanes, and a clock that advances only in ``sleep``."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.lane = MemoryDeadLane(self.retry.dead)
        self.changes = MemoryChanges(self.store.tables[TABLE.table])
        screens = {"chat": DeletedTexts(self.changes, lambda: self.now).hidden}
        self.letters = DeadLetters(
            self.lane, self.retry, {"chat": TABLE, "probe": TABLE}, CLOCK, screens, lambda: self.now, self.sleep
        )
        self.router = http_handler(Api(ROUTES, lambda: self.letters, CLOCK))

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def die(self, *bodies: bytes | str) -> None:
        """Let records go from the main lane through the retry lane to the dead lane."""
        self.persist(*bodies)
        self.retry_until_settled()

    def bury(self, record: RetryRecord) -> None:
        """Put a record directly into the dead lane."""
        message = self.retry.queue.send(record)
        self.retry.queue.messages.remove(message)
        self.retry.dead.put(message)

    def retry_until_settled(self) -> None:
        while messages := self.retry.receive():
            answer = self.persister.retry_lane(received_event(messages))
            failed = {each["itemIdentifier"] for each in answer["batchItemFailures"]}
            self.retry.delete([each.receipt for each in messages if each.id not in failed])

    def call(self, route: str, body: Any = None, scope: str = "ops", **query: str) -> tuple[int, Any]:
        answer = self.router(http_event(route, body, user="olga", scope=scope, query=query or None))
        return answer["statusCode"], json.loads(answer["body"])

    def list(self, **query: str) -> Any:
        status, answer = self.call(LIST, **query)
        assert status == 200, answer
        return answer
