"""Functions that remember what they were invoked with and answer as told."""

from __future__ import annotations

import asyncio
import json
from base64 import b64decode
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from localstage.invoking import Invocation

OK = Invocation(b"null")
FAILED = Invocation(b'{"errorMessage": "no", "errorType": "ValueError"}', error="Unhandled")


@dataclass
class Call:
    function_id: str
    event: dict[str, Any]
    size: int
    lane: str | None

    @property
    def records(self) -> list[dict[str, Any]]:
        if "Records" in self.event:
            return self.event["Records"]
        return [record for records in self.event["rmqMessagesByQueue"].values() for record in records]

    @property
    def bodies(self) -> list[str]:
        if "Records" in self.event:
            return [record["body"] for record in self.records]
        return [b64decode(record["data"]).decode() for record in self.records]


Answer = Callable[[Call], Awaitable[Invocation]]


class FakeFunctions:
    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.answer: Answer = self._succeed
        self.running: Counter[str | None] = Counter()
        self.most: Counter[str | None] = Counter()
        self._changed = asyncio.Condition()

    async def _succeed(self, _: Call) -> Invocation:
        return OK

    async def invoke(self, function_id: str, event: bytes, *, lane: str | None = None) -> Invocation:
        call = Call(function_id, json.loads(event), len(event), lane)
        self.calls.append(call)
        self.running[lane] += 1
        self.most[lane] = max(self.most[lane], self.running[lane])
        self.most["all"] = max(self.most["all"], sum(self.running.values()))
        async with self._changed:
            self._changed.notify_all()
        try:
            return await self.answer(call)
        finally:
            self.running[lane] -= 1

    @property
    def bodies(self) -> list[str]:
        return [body for call in self.calls for body in call.bodies]

    async def until(self, enough: Callable[[], bool]) -> None:
        """Wait until enough was invoked; fails after 20 s."""
        async with asyncio.timeout(20), self._changed:
            await self._changed.wait_for(enough)


def answering(*answers: Invocation) -> Answer:
    """Give these answers in turn, and success after them."""
    left = list(answers)

    async def answer(_: Call) -> Invocation:
        return left.pop(0) if left else OK

    return answer


async def eventually(holds: Callable[[], bool]) -> None:
    """Wait until something outside of the loop holds; fails after 20 s."""
    async with asyncio.timeout(20):
        while True:
            if holds():
                return
            await asyncio.sleep(0.05)
