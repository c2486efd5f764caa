"""The two ways to send events: HTTP requests, and frames over a WebSocket."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

import aiohttp

from .connection import Connection, ConnectionSettings
from .errors import GATEWAY_CODES, Refused, Unavailable, Unreachable
from .tokens import Token, token_of

HTTP_EVENTS = 500
HTTP_BYTES = 4 * 1024 * 1024
FRAME_EVENTS = 100
CONNECT_SECONDS = 5.0
FRAME_BYTES = 30_000
"""API Gateway closes the connection on a WebSocket frame over 32 KB."""

NOT_CONNECTED = (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError)


class HttpTransport:
    """One message as ``POST /rooms/{roomId}/messages``, several as ``POST /messages/batch``."""

    max_events = HTTP_EVENTS
    max_bytes = HTTP_BYTES

    def __init__(self, url: str, token: Token, answer_seconds: float) -> None:
        self._url = url.rstrip("/")
        self._token = token
        self._timeout = aiohttp.ClientTimeout(total=answer_seconds, sock_connect=CONNECT_SECONDS)
        self._answered = False
        self._session: aiohttp.ClientSession | None = None

    async def open(self) -> None:
        """Open the HTTP session."""
        self._session = aiohttp.ClientSession(timeout=self._timeout)

    async def close(self) -> None:
        """Close the HTTP session."""
        if self._session is not None:
            await self._session.close()

    async def post(self, events: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """Send ``events``; returns one result per event, in order.

        Raises:
            Refused: a permanent error of the whole request.
            Unavailable: no answer, or 429 or 5xx without a result for each event.
            Unreachable: no connection, and no request was answered yet.
        """
        if self._session is None:
            raise Unavailable("not open")
        path, body = "/messages/batch", {"events": list(events)}
        if len(events) == 1 and _is_path_segment(events[0].get("roomId")):
            path, body = f"/rooms/{quote(events[0]['roomId'], safe='')}/messages", events[0]
        headers = {"authorization": f"Bearer {await token_of(self._token)}"}
        try:
            async with self._session.post(self._url + path, json=body, headers=headers) as answer:
                self._answered = True
                return _results(len(events), answer.status, answer.headers.get("Retry-After"), await answer.read())
        except aiohttp.InvalidURL:
            raise Refused("invalid_url", f"{self._url} is not the address of an HTTP API") from None
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            kind = Unavailable if self._answered or not isinstance(error, NOT_CONNECTED) else Unreachable
            raise kind(f"no answer from {self._url}: {error or type(error).__name__}") from error


def _is_path_segment(room_id: object) -> bool:
    """Whether it can be in a path. Other ids are sent in a body, where the answer names what is wrong."""
    return isinstance(room_id, str) and not {"/", "?"} & set(room_id) and room_id not in ("", ".", "..")


def _results(count: int, status: int, retry_after: str | None, body: bytes) -> list[dict[str, Any]]:
    try:
        found = json.loads(body)
    except ValueError:
        found = None
    found = found if isinstance(found, dict) else {}
    results = found.get("results")
    if isinstance(results, list) and len(results) == count:
        return results
    error = found.get("error")
    if not isinstance(error, dict):  # an error of API Gateway or a proxy
        error = {"code": GATEWAY_CODES.get(status, str(status)), "message": error or found.get("message", "")}
    if status == 429 or status >= 500:
        with contextlib.suppress(TypeError, ValueError):  # a date, or missing
            raise Unavailable(f"{status} {error['message']}", float(retry_after or "none"))
        raise Unavailable(f"{status} {error['message']}")
    if status in (201, 202):
        raise Unavailable("an answer without a result for each event")
    raise Refused(error["code"], error["message"])


class SocketTransport:
    """One message as ``sendMessage``, several as ``sendBatch``."""

    max_events = FRAME_EVENTS
    max_bytes = FRAME_BYTES

    def __init__(self, url: str, token: Token, settings: ConnectionSettings) -> None:
        self._settings = settings
        self._connection = Connection(url, token, settings, opened=_do_nothing, received=lambda _frame: None)
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
            await asyncio.wait_for(self._connection.wait(), self._settings.answer_timeout)
        except TimeoutError:
            raise Unavailable(self._connection.failure) from None
        if len(events) == 1:
            return [await self._connection.request("sendMessage", **events[0])]
        results = (await self._connection.request("sendBatch", events=list(events))).get("results")
        if not isinstance(results, list) or len(results) != len(events):
            raise Unavailable("an answer without a result for each event")
        return results


async def _do_nothing() -> None:
    pass
