"""One event on its way through a function."""

from __future__ import annotations

import asyncio
import time
import uuid

from localstage.core.invoker import Invocation


class Event:
    """An event with the caller's future; ``began`` and ``seconds`` are set by the environment that runs it."""

    __slots__ = ("began", "body", "cold", "future", "lineage", "request_id", "seconds")

    def __init__(self, body: bytes, future: asyncio.Future[Invocation], lineage: str) -> None:
        self.body = body
        self.future = future
        self.lineage = lineage
        self.request_id = str(uuid.uuid4())
        self.began = 0.0
        self.seconds = 0.0
        self.cold = False

    @property
    def trace(self) -> str:
        """The X-Ray header of an unsampled trace, which counts the function's invocations in its chain."""
        digits = self.request_id.replace("-", "")
        return f"Root=1-{int(time.time()):08x}-{digits[:24]};Parent={digits[16:]};Sampled=0;Lineage={self.lineage}"

    def resolve(self, payload: bytes, error: str | None) -> None:
        """Give the caller its answer, if it is still waiting."""
        if not self.future.done():
            self.future.set_result(Invocation(payload, error, self.cold, self.seconds))

    def refuse(self, error: Exception) -> None:
        """Give the caller an exception, if it is still waiting."""
        if not self.future.done():
            self.future.set_exception(error)
