"""Sends events from threads or greenlets, over a transport of the caller."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from .errors import Refused, Unavailable
from .pace import SendSettings
from .sending import Event, Limits, Result, SendLoop, Sent, advance, checked, failed


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
        steps = self._loop.steps(events)
        step, sent = advance(steps, None)
        while step is not None:
            results = None
            if isinstance(step, float):
                self._sleep(step)
            else:
                try:
                    results = self._transport.post(step)
                except (Unavailable, Refused) as error:
                    results = failed(error, len(step))
            step, sent = advance(steps, results)
        return checked(sent) if raise_for_errors else sent
