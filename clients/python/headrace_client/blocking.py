"""Sends events from threads or greenlets, over a transport of the caller."""

from __future__ import annotations

import contextlib
import random
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any, Protocol, TypeVar

from .calls import Event, Result, Sent, checked
from .pace import Pace, SendSettings
from .sending import Limits, SendLoop

Answer = TypeVar("Answer")


class BlockingTransport(Limits, Protocol):
    """A :class:`Transport` for threads or greenlets."""

    def post(self, events: Sequence[Event]) -> list[Result]:
        """Send ``events``, as :meth:`Transport.post`."""
        ...


class BlockingSender:
    """A :class:`Sender` for threads or greenlets, over a transport of the caller. Not safe to share between them."""

    def __init__(
        self,
        transport: BlockingTransport,
        settings: SendSettings | None = None,
        *,
        sleep: Callable[[float], object] = time.sleep,
        **options: Any,
    ) -> None:
        self._transport = transport
        self._sleep = sleep
        self._loop = SendLoop(transport, settings, **options)
        self.pace = self._loop.pace

    def send(self, events: Sequence[Event], *, raise_for_errors: bool = True) -> list[Sent]:
        """Send ``events``, as :meth:`Sender.send`."""
        answer: Future[list[Sent]] = Future()
        self._loop.add(events, answer)
        with contextlib.suppress(StopIteration):
            self._loop.run(self._post, self._pause).send(None)  # it ends at once, because nothing here is awaited
        return checked(answer.result()) if raise_for_errors else answer.result()

    async def _post(self, events: Sequence[Event]) -> list[Result]:
        return self._transport.post(events)

    async def _pause(self, seconds: float) -> None:
        if seconds:
            self._sleep(seconds)


def repeated(work: Callable[[], Answer], settings: SendSettings, is_temporary: Callable[[Any], bool]) -> Answer:
    """The answer of ``work``, which is repeated after temporary errors until ``settings.retry_timeout``."""
    pace = Pace(settings, random.uniform)
    while True:
        try:
            return work()
        except Exception as error:
            pause = pace.retry(time.monotonic(), getattr(error, "retry_after", None)) if is_temporary(error) else None
            if pause is None:
                raise
        time.sleep(pause)
