"""A WebSocket connection that is opened again after each end, with requests and their answers."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import aiohttp

from .errors import GATEWAY_CODES, Refused, Unavailable, Unreachable, error_of
from .tokens import Token, token_of

_log = logging.getLogger("headrace_client")
SUBPROTOCOL = "headrace.v1"
Frame = dict[str, Any]


@dataclass(frozen=True)
class ConnectionSettings:
    """Times of a WebSocket connection, in seconds.

    ``check_interval``: the longest time after which the followed rooms are resumed. That fetches messages that were
    not pushed, and keeps an idle connection open, which API Gateway closes after 10 minutes. ``late_frame``: how long a
    frame may come after the one that follows it, before it counts as lost. ``answer_timeout``: how long a request waits
    for its answer. ``first_pause`` and ``longest_pause``: upper bounds of the random pause before
    connecting again; the bound doubles with each failed attempt. ``renew``: how long before its expiry a token is
    renewed. ``connect_timeout``: how long to wait for the first connection; then the address counts as wrong.
    """

    check_interval: float = 540.0
    late_frame: float = 1.0
    answer_timeout: float = 15.0
    first_pause: float = 0.2
    longest_pause: float = 20.0
    renew: float = 60.0
    connect_timeout: float = 5.0


class Connection:
    """Keeps one connection to ``url``; ``token`` gives the access token for each.

    ``opened`` runs while a connection is open and is cancelled when it ends; it begins again after a renewal of the
    token, because nothing is pushed while a token is expired. ``received`` is called with every frame that answers no
    request.
    """

    def __init__(
        self,
        url: str,
        token: Token,
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
        self._work: asyncio.Future[None] | None = None
        """Runs ``opened``."""
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
            Refused: the token or the address was refused, so no further connection is made.
            Unreachable: the first connection did not open within ``connect_timeout``.
        """
        try:
            async with asyncio.timeout(None if self.opens else self._settings.connect_timeout):
                await self._changed.wait()
        except TimeoutError:
            raise Unreachable(f"cannot connect to {self._url}: {self.failure}", self._url) from None
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
        if (socket := self._socket) is None:
            raise Unavailable(self.failure)
        self._number += 1
        number = str(self._number)
        answer = self._answers[number] = asyncio.get_running_loop().create_future()
        try:
            await socket.send_str(json.dumps({**fields, "action": action, "requestId": number}))
            async with asyncio.timeout(self._settings.answer_timeout):  # wait_for of Python 3.11 can lose a cancel
                found: Frame = await answer
        except (TimeoutError, ConnectionError) as error:
            raise Unavailable("no answer") from error
        finally:
            self._answers.pop(number, None)
        if found.get("type") == "error":
            if found["error"]["code"] == "token_expired":
                await self.reconnect()  # the next connection gets a new token
            raise error_of(found["error"])
        if "tokenExpiresAt" in found:
            self._expires_at = max(self._expires_at, datetime.fromisoformat(found["tokenExpiresAt"]).timestamp())
            self._expiry_known.set()
        return found

    async def _renew(self) -> None:
        """Renew the token before it expires. If that fails, another connection follows when it has expired."""
        await self._expiry_known.wait()
        with contextlib.suppress(Refused):
            while True:
                left = self._expires_at - time.time()
                await asyncio.sleep(max(left - self._settings.renew, left / 2, self._settings.first_pause))
                before = self._expires_at
                with contextlib.suppress(Unavailable):
                    await self.request("authenticate", token=await token_of(self._token))
                    if self._expires_at > before:
                        self.renewals += 1
                        await self._work_again()

    async def _work_again(self) -> None:
        """Let ``opened`` begin again, after its earlier run has ended: rooms are not resumed twice at once."""
        if self._work is not None:
            self._work.cancel()
            await asyncio.wait([self._work])
        self._work = asyncio.ensure_future(self._opened())

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
                    except (aiohttp.ClientError, TimeoutError, OSError, Unavailable) as error:
                        self.failure = str(error) or type(error).__name__
                    tries = 1 if self.opens > opens else tries + 1
                    # Full jitter: clients that lost their connections together must not reconnect together.
                    longest = min(self._settings.longest_pause, self._settings.first_pause * 2 ** min(tries, 16))
                    pause = random.uniform(0, longest)  # noqa: S311
                    _log.warning("connecting to %s again in %.1f s: %s", self._url, pause, self.failure)
                    await asyncio.sleep(pause)
        except Refused as error:
            _log.error("no further connection to %s: %s", self._url, error)
            self.refusal = error
            self._changed.set()

    async def _serve(self, session: aiohttp.ClientSession) -> None:
        """Open one connection and read from it until it ends."""
        if not self._url.startswith(("ws://", "wss://")):
            raise Refused("invalid_url", f"{self._url} is not the address of a WebSocket; it begins with wss://")
        _log.debug("connecting to %s", self._url)
        try:
            # API Gateway's largest message has 128 KB, such as a page of history.
            socket = await session.ws_connect(
                self._url, protocols=(SUBPROTOCOL, await token_of(self._token)), max_msg_size=256 * 1024
            )
        except aiohttp.WSServerHandshakeError as error:
            if error.status in GATEWAY_CODES:
                raise Refused(GATEWAY_CODES[error.status], "the token is not accepted") from None
            raise
        except aiohttp.InvalidURL:
            raise Refused("invalid_url", f"{self._url} is not the address of a WebSocket") from None
        self._socket = socket
        self.opens += 1
        _log.debug("connected to %s", self._url)
        self._expires_at = 0.0
        self._expiry_known.clear()
        self._work = asyncio.ensure_future(self._opened())
        renewing = asyncio.ensure_future(self._renew())
        self._changed.set()
        try:
            async for frame in socket:
                if frame.type is aiohttp.WSMsgType.TEXT:
                    self._receive(json.loads(frame.data))
        finally:
            self._socket = None
            self._changed.clear()
            renewing.cancel()
            self._work.cancel()
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
