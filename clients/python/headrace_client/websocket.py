"""Sends events as frames over a WebSocket."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from typing import Any

from .connection import Connection, ConnectionSettings
from .errors import Unavailable
from .tokens import Token

FRAME_EVENTS = 100
FRAME_BYTES = 30_000
"""API Gateway closes the connection on a WebSocket frame over 32 KB."""


class SocketTransport:
    """One message as ``sendMessage``, several as ``sendBatch``."""

    max_events = FRAME_EVENTS
    max_bytes = FRAME_BYTES

    def __init__(self, url: str, token: Token, settings: ConnectionSettings, **options: Any) -> None:
        self._settings = settings
        self._connection = Connection(
            url, token, settings, opened=lambda: asyncio.sleep(0), received=lambda _frame: None, **options
        )
        self._running: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Start to connect in the background."""
        self._running = asyncio.create_task(self._connection.run())

    async def close(self) -> None:
        """Close the connection."""
        if self._running is not None:
            self._running.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._running

    async def post(self, events: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """Send ``events``; returns one result per event, in order.

        Raises:
            Refused, Unavailable: see :meth:`Connection.request`.
        """
        try:
            async with asyncio.timeout(self._settings.answer_timeout):
                await self._connection.wait()
        except TimeoutError:
            raise Unavailable(self._connection.failure) from None
        if len(events) == 1:
            return [await self._connection.request("sendMessage", **events[0])]
        results = (await self._connection.request("sendBatch", events=list(events))).get("results")
        if not isinstance(results, list) or len(results) != len(events):
            raise Unavailable("an answer without a result for each event")
        return results
