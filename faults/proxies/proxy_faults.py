"""What the proxies do during a fault: to calls, and to the bytes of a broker's connections."""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from aiohttp import web

from faults.proxies.http_proxy import Call, Down, Fault, Forward
from faults.proxies.socket_owner import kill_peer
from faults.proxies.throttle import WRITES, SomeRefused, row_of

WORKER = "PersistEvents"
"""Part of the command line of persist_events' workers (see localstage/functions/bootstrap.py)."""


BASIC_ACK = b"\x00\x3c\x00\x50"
"""Class and method of AMQP's basic.ack: what a broker sends to a publisher as its confirm."""


class LosesConfirms:
    """Resets the connection of each of the next ``left`` chunks with a broker's confirm: the broker has the message,
    and its publisher does not know."""

    def __init__(self, left: int) -> None:
        self.left = left

    def __call__(self, data: bytes) -> bytes | None:
        if self.left and BASIC_ACK in data:
            self.left -= 1
            return None
        return data


def refuse(_data: bytes) -> None:
    """Reset every connection that sends something."""


async def down(_call: Call, _forward: Forward) -> web.Response:
    """Every connection is cut."""
    raise Down


def slower_writes(seconds: float) -> Fault:
    """Each batch of writes takes so many seconds longer."""

    async def slower(call: Call, forward: Forward) -> web.Response:
        if call.action == WRITES:
            await asyncio.sleep(seconds)
        return await forward(call.body)

    return slower


def standing_still(still: float = 2.0, seconds: float = 3.0) -> Fault:
    """Nothing is answered for ``still`` of every ``seconds``, and then what came, also if its caller gave up."""
    began, on_their_way = time.monotonic(), set[asyncio.Task[web.Response]]()

    async def later(call: Call, forward: Forward) -> web.Response:
        await asyncio.sleep(max(0.0, still - (time.monotonic() - began) % seconds))
        return await forward(call.body)

    async def held(call: Call, forward: Forward) -> web.Response:
        on_their_way.add(task := asyncio.create_task(later(call, forward)))
        task.add_done_callback(on_their_way.discard)
        return await asyncio.shield(task)

    return held


class Pushed:
    """Counts how often each message was pushed to each connection, by the path of the connection and its id."""

    def __init__(self) -> None:
        self.pairs: Counter[tuple[str, str]] = Counter()

    def __call__(self, action: str, body: bytes, taken: web.Response) -> None:
        if taken.status == 200 and body:
            self.pairs.update((action, item["messageId"]) for item in json.loads(body).get("items", ()))


class KillsWriters:
    """Kills the worker (-9) of every ``every``-th call that stores rows, alternately before and after they are stored;
    ``most`` workers at most."""

    def __init__(self, every: int, most: int) -> None:
        self._every = every
        self._most = most
        self._calls = 0
        self.killed = 0

    async def __call__(self, call: Call, forward: Forward) -> web.Response:
        if call.action != WRITES or self.killed >= self._most:
            return await forward(call.body)
        self._calls += 1
        if self._calls % self._every:
            return await forward(call.body)
        if self.killed % 2:
            await forward(call.body)
        self.killed += kill_peer(call.peer[1], WORKER)
        raise Down


class CrashRecord:
    """Kills the worker (-9) that would make a call of ``action`` with ``marker`` in it, ``most`` times at most."""

    def __init__(self, marker: str, action: str = WRITES, most: int = 1_000_000) -> None:
        self._marker, self._action, self._most = marker.encode(), action, most
        self.killed = 0

    async def __call__(self, call: Call, forward: Forward) -> web.Response:
        if call.action == self._action and self._marker in call.body and self.killed < self._most:
            self.killed += kill_peer(call.peer[1], WORKER)
            raise Down
        return await forward(call.body)


class RefusesSome(SomeRefused):
    """Refuses rows whose message id ends with one of ``endings``, as a wrongly configured table does: they look like
    poison until the fault ends."""

    code = "ValidationError"

    def __init__(self, endings: str) -> None:
        super().__init__()
        self._endings = tuple(endings)

    def takes(self, _table: str, row: Mapping[str, Any]) -> bool:
        """Whether the id has another ending."""
        return not row.get("messageId", {"S": ""})["S"].endswith(self._endings)


class StoredTimes:
    """When each message was stored for the first time, by its id: a time of ``time.monotonic``."""

    def __init__(self) -> None:
        self.by_id: dict[str, float] = {}

    def __call__(self, action: str, body: bytes, taken: web.Response) -> None:
        if action == WRITES and taken.status == 200 and isinstance(taken.body, bytes):
            now, answers = time.monotonic(), json.loads(taken.body)["Responses"]
            for statement, answered in zip(json.loads(body)["Statements"], answers, strict=True):
                _, row = row_of(statement)
                known = answered.get("Error", {}).get("Code") in (None, "DuplicateItem")
                if known and "messageId" in row:
                    self.by_id.setdefault(row["messageId"]["S"], now)


class TakenBySqs:
    """Counts the ``events`` that SQS took into the retry lane, and knows when others were ``told`` of each message.

    A time is one of ``time.monotonic``, of the first telling; ``repeated`` counts the others.
    """

    def __init__(self) -> None:
        self.events = 0
        self.told: dict[str, float] = {}
        self.repeated = 0

    def __call__(self, action: str, body: bytes, taken: web.Response) -> None:
        if action == "SendMessageBatch" and taken.status == 200 and isinstance(taken.body, bytes):
            call = json.loads(body)
            ids = {each["Id"] for each in json.loads(taken.body).get("Successful", ())}
            bodies = [entry["MessageBody"] for entry in call["Entries"] if entry["Id"] in ids]
            if call["QueueUrl"].endswith("-retry"):
                self.events += sum(map(events_in, bodies))
            else:
                self._note(map(json.loads, bodies))

    def _note(self, events: Iterable[Any]) -> None:
        now = time.monotonic()
        for event in events:
            if event.get("type") == "message.stored":
                self.repeated += event["data"]["messageId"] in self.told
                self.told.setdefault(event["data"]["messageId"], now)


def events_in(body: str) -> int:
    """The number of events in an envelope; 1 if ``body`` is no envelope."""
    try:
        events: Sequence[object] = json.loads(body)["events"]
        return len(events)
    except (ValueError, KeyError, TypeError):
        return 1
