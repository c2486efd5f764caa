"""Sends events as frames over a WebSocket."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from .connection import Connection
from .errors import Unavailable

FRAME_EVENTS = 100
FRAME_BYTES = 30_000
"""API Gateway closes the connection on a WebSocket frame over 32 KB."""


class SocketTransport(Connection):
    """One message as ``sendMessage``, several as ``sendBatch``."""

    max_events = FRAME_EVENTS
    max_bytes = FRAME_BYTES

    async def post(self, events: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """Send ``events``; returns one result per event, in order.

        Raises:
            Refused, Unavailable: see :meth:`Connection.request`.
        """
        try:
            async with asyncio.timeout(self._settings.answer_timeout):
                await self.wait()
        except TimeoutError:
            raise Unavailable(self.failure) from None
        if len(events) == 1:
            return [await self.request("sendMessage", **events[0])]
        results = (await self.request("sendBatch", events=list(events))).get("results")
        if not isinstance(results, list) or len(results) != len(events):
            raise Unavailable("an answer without a result for each event")
        return results
