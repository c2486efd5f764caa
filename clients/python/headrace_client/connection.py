"""A WebSocket connection that is opened again after each end, with requests and their answers."""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import aiohttp

SUBPROTOCOL = "headrace.v1"
TEMPORARY = frozenset({"unavailable", "rate_limited", "internal", "token_expired"})
"""Codes of errors after which the same request may succeed later."""

GATEWAY_CODES = {401: "unauthorized", 403: "forbidden"}
"""The codes of refusals by API Gateway, whose answers have none."""

Frame = dict[str, Any]


class Refused(Exception):
    """The platform refused a request, and would refuse it again. ``code`` is the code of the error."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code


class Unavailable(Exception):
    """There is no connection, no answer, or a temporary error: the same request may succeed later.

    ``retry_after`` is the number of seconds to wait, if the platform named one.
    """

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class RateLimited(Unavailable):
    """Too many requests, or too many connections. Another connection would not succeed earlier."""

    def pause(self) -> float:
        """Seconds to wait: ``retry_after`` and a random time, so that clients do not return together."""
        return (self.retry_after or 0.0) + random.uniform(0.0, 1.0)  # noqa: S311


def error_of(error: Frame) -> Refused | Unavailable:
    """The exception for an ``error`` object of an answer."""
    if error["code"] not in TEMPORARY:
        return Refused(error["code"], error["message"])
    kind = RateLimited if error["code"] == "rate_limited" else Unavailable
    return kind(error["message"], error.get("retryAfter"))


@dataclass(frozen=True)
class ConnectionSettings:
    """Times of a WebSocket connection, in seconds.

    ``check_interval``: the longest time after which the followed rooms are resumed. That fetches messages that were
    not pushed, and keeps an idle connection open, which API Gateway closes after 10 minutes. ``late_frame``: how long a
    frame may come after the one that follows it, before it counts as lost. ``answer_timeout``: how long a request waits
    for its answer. ``first_pause`` and ``longest_pause``: upper bounds of the random pause before
    connecting again; the bound doubles with each failed attempt. ``renew``: how long before its expiry a token is
    renewed.
    """

    check_interval: float = 540.0
    late_frame: float = 1.0
    answer_timeout: float = 15.0
    first_pause: float = 0.2
    longest_pause: float = 20.0
    renew: float = 60.0


class Connection:
    """Keeps one connection to ``url``; ``token`` returns the access token for each.

    ``opened`` runs while a connection is open and is cancelled when it ends. ``received`` is called with every frame
    that answers no request.
    """

    def __init__(
        self,
        url: str,
        token: Callable[[], str],
        settings: ConnectionSettings,
        *,
        opened: Callable[[], Awaitable[None]],
        received: Callable[[Frame], None],
    ) -> None:
        self._url = url
        self._token = token
        self._settings = settings
        self._opened = opened
        self._received = received
        self._answers: dict[str, asyncio.Future[Frame]] = {}
        self._number = 0
        self._socket: aiohttp.ClientWebSocketResponse | None = None
        self._changed = asyncio.Event()
        self._expires_at = 0.0
        """When the connection's token expires, as far as answers have said: seconds of the epoch."""
        self._expiry_known = asyncio.Event()
        self.renewals = 0
        """How often the token of a connection was renewed."""
        self.opens = 0
        """The number of connections opened so far."""
        self.failure = "not connected"
        """The reason why no connection is open."""
        self.refusal: Refused | None = None
        """The error that refused the token. Set when no further connection is made."""

    async def wait(self) -> None:
        """Wait until a connection is open.

        Raises:
            Refused: the token was refused, so no further connection is made.
        """
        await self._changed.wait()
        if self.refusal is not None:
            raise self.refusal

    async def request(self, action: str, /, **fields: Any) -> Frame:
        """Send a frame and return its answer. Fields named ``action`` or ``requestId`` are ignored.

        Raises:
            Refused: the answer is a permanent error, or the token was refused.
            Unavailable: no connection, no answer within ``answer_timeout``, or a temporary error.
        """
        if self.refusal is not None:
            raise self.refusal
        socket = self._socket
        if socket is None:
            raise Unavailable(self.failure)
        self._number += 1
        number = str(self._number)
        answer = self._answers[number] = asyncio.get_running_loop().create_future()
        try:
            await socket.send_str(json.dumps({**fields, "action": action, "requestId": number}))
            found: Frame = await asyncio.wait_for(answer, self._settings.answer_timeout)
        except (TimeoutError, ConnectionError) as error:
            raise Unavailable("no answer") from error
        finally:
            self._answers.pop(number, None)
        if found.get("type") == "error":
            await self._raise(found["error"])
        if "tokenExpiresAt" in found:
            expires_at = datetime.fromisoformat(found["tokenExpiresAt"]).timestamp()
            self._expires_at = max(self._expires_at, expires_at)
            self._expiry_known.set()
        return found

    async def _raise(self, error: Frame) -> None:
        if error["code"] == "token_expired":
            await self.reconnect()  # the next connection gets a new token
        raise error_of(error)

    async def _renew(self) -> None:
        """Renew the token before it expires. If that fails, another connection follows when it has expired."""
        await self._expiry_known.wait()
        with contextlib.suppress(Refused):
            while True:
                left = self._expires_at - time.time()
                await asyncio.sleep(max(left - self._settings.renew, left / 2, self._settings.first_pause))
                before = self._expires_at
                with contextlib.suppress(Unavailable):
                    await self.request("authenticate", token=self._token())
                    self.renewals += self._expires_at > before

    async def reconnect(self) -> None:
        """Close the connection, if one is open. :meth:`run` then opens another."""
        if self._socket is not None:
            await self._socket.close()

    async def run(self) -> None:
        """Open a connection, and another after each end, until the token is refused."""
        tries = 0
        try:
            async with aiohttp.ClientSession() as session:
                while True:
                    opens = self.opens
                    try:
                        await self._serve(session)
                        self.failure = "not connected"
                    except (aiohttp.ClientError, TimeoutError, OSError) as error:
                        self.failure = f"not connected: {error or type(error).__name__}"
                    tries = 1 if self.opens > opens else tries + 1
                    # Full jitter: clients that lost their connections together must not reconnect together.
                    longest = min(self._settings.longest_pause, self._settings.first_pause * 2 ** min(tries, 16))
                    await asyncio.sleep(random.uniform(0, longest))  # noqa: S311
        except Refused as error:
            self.refusal = error
            self._changed.set()

    async def _serve(self, session: aiohttp.ClientSession) -> None:
        """Open one connection and read from it until it ends."""
        try:
            # API Gateway's largest message has 128 KB, such as a page of history.
            socket = await session.ws_connect(
                self._url, protocols=(SUBPROTOCOL, self._token()), max_msg_size=256 * 1024
            )
        except aiohttp.WSServerHandshakeError as error:
            if error.status in GATEWAY_CODES:
                raise Refused(GATEWAY_CODES[error.status], "the token is not accepted") from None
            raise
        except aiohttp.InvalidURL:
            raise Refused("invalid_url", f"{self._url} is not the URL of a WebSocket") from None
        self._socket = socket
        self.opens += 1
        self._expires_at = 0.0
        self._expiry_known.clear()
        opened = asyncio.ensure_future(self._opened())
        renewing = asyncio.ensure_future(self._renew())
        self._changed.set()
        try:
            async for frame in socket:
                if frame.type is aiohttp.WSMsgType.TEXT:
                    self._receive(json.loads(frame.data))
        finally:
            self._socket = None
            self._changed.clear()
            opened.cancel()
            renewing.cancel()
            self._fail_all("the connection ended")
            await socket.close()

    def _receive(self, frame: Frame) -> None:
        answer = self._answers.get(str(frame.get("requestId")))
        if "type" not in frame:
            # An error of API Gateway itself, such as throttling, does not name the request. So all requests fail.
            self._fail_all(str(frame.get("message", "refused")))
        elif answer is None:
            self._received(frame)
        elif not answer.done():
            answer.set_result(frame)

    def _fail_all(self, reason: str) -> None:
        for answer in self._answers.values():
            if not answer.done():
                answer.set_exception(Unavailable(reason))
