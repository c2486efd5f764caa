"""One connection at a time: opened again whenever it ends, with frames that are answered."""

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
MAY_PASS = frozenset({"unavailable", "rate_limited", "internal", "token_expired"})
"""Codes of errors that trying again may mend."""

Frame = dict[str, Any]


class Refused(Exception):
    """The other side said no, and would say it again: ``code`` is the error's."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code


class Lost(Exception):
    """There is no connection, or no answer came, or one that may be another next time.

    ``retry_after``: the seconds to wait before that, if the other side said.
    """

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


@dataclass(frozen=True)
class Patience:
    """Seconds. ``overlap`` is how far before the last key a gap is fetched: as late as a message may be stored.

    ``check`` is about how often a room's head is asked for (it also keeps an idle connection open), and ``settle`` how
    long that head may be on its way; ``answer`` is how long a frame's answer is waited for; ``first_pause`` to
    ``longest_pause`` lie between tries to connect; ``renew`` is how long before its expiry a token is renewed.
    """

    overlap: float = 30.0
    check: float = 60.0
    settle: float = 3.0
    answer: float = 15.0
    first_pause: float = 0.2
    longest_pause: float = 20.0
    renew: float = 60.0


class Connection:
    """Connects to ``url`` again and again, each time with what ``token`` gives then.

    ``opened`` runs while a connection is open, and is cancelled with it; ``received`` takes every frame that is no
    answer; ``ended`` is called after a connection that was open.
    """

    def __init__(
        self,
        url: str,
        token: Callable[[], str],
        patience: Patience,
        *,
        opened: Callable[[], Awaitable[None]],
        received: Callable[[Frame], None],
        ended: Callable[[], None],
    ) -> None:
        self._url = url
        self._token = token
        self._patience = patience
        self._opened = opened
        self._received = received
        self._ended = ended
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
        """How often it was opened."""
        self.over: Refused | None = None
        """Why it will never be opened again."""

    async def wait(self) -> None:
        """Wait until there is a connection.

        Raises:
            Refused: there will be none.
        """
        await self._changed.wait()
        if self.over is not None:
            raise self.over

    async def request(self, action: str, /, **fields: Any) -> Frame:
        """The answer to a frame; the frame's own ``action`` and ``requestId`` stand over fields of these names.

        Raises:
            Refused: it is an error that trying again would not mend.
            Lost: there is no connection, no answer in time, or an error that may pass.
        """
        if self.over is not None:
            raise self.over
        socket = self._socket
        if socket is None:
            raise Lost("not connected")
        self._number += 1
        number = str(self._number)
        answer = self._answers[number] = asyncio.get_running_loop().create_future()
        try:
            await socket.send_str(json.dumps({**fields, "action": action, "requestId": number}))
            found: Frame = await asyncio.wait_for(answer, self._patience.answer)
        except (TimeoutError, ConnectionError) as error:
            raise Lost("no answer") from error
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
        if error["code"] not in MAY_PASS:
            raise Refused(error["code"], error["message"])
        if error["code"] == "token_expired":
            await self.drop()  # the next connection has another one
        raise Lost(error["message"], error.get("retryAfter"))

    async def _renew(self) -> None:
        """Renew the token before it expires. If that fails, another connection follows when it has expired."""
        await self._expiry_known.wait()
        with contextlib.suppress(Refused):
            while True:
                left = self._expires_at - time.time()
                await asyncio.sleep(max(left - self._patience.renew, left / 2, self._patience.first_pause))
                before = self._expires_at
                with contextlib.suppress(Lost):
                    await self.request("authenticate", token=self._token())
                    if self._expires_at <= before:
                        return  # ``token`` has no newer one
                    self.renewals += 1

    async def drop(self) -> None:
        """End the connection there is; another one follows."""
        if self._socket is not None:
            await self._socket.close()

    async def run(self) -> None:
        """Keep a connection, until the token is refused."""
        tries = 0
        try:
            async with aiohttp.ClientSession() as session:
                while True:
                    opens = self.opens
                    with contextlib.suppress(aiohttp.ClientError, TimeoutError, OSError):
                        await self._serve(session)
                    tries = 1 if self.opens > opens else tries + 1
                    # Full jitter: clients that were cut off together must not come back together.
                    longest = min(self._patience.longest_pause, self._patience.first_pause * 2 ** min(tries, 16))
                    await asyncio.sleep(random.uniform(0, longest))  # noqa: S311
        except Refused as error:
            self.over = error
            self._changed.set()

    async def _serve(self, session: aiohttp.ClientSession) -> None:
        """One connection, from its handshake to its end."""
        try:
            # API Gateway has no larger frame than 128 KB; a page of history may be one.
            socket = await session.ws_connect(
                self._url, protocols=(SUBPROTOCOL, self._token()), max_msg_size=256 * 1024
            )
        except aiohttp.WSServerHandshakeError as error:
            if error.status in (401, 403):
                raise Refused(str(error.status), "the token is not accepted") from None
            raise
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
            self._ended()
            await socket.close()

    def _receive(self, frame: Frame) -> None:
        answer = self._answers.get(str(frame.get("requestId")))
        if "type" not in frame:
            # API Gateway's own refusal (it is throttled, say) does not tell of which frame. All may be sent again.
            self._fail_all(str(frame.get("message", "refused")))
        elif answer is None:
            self._received(frame)
        elif not answer.done():
            answer.set_result(frame)

    def _fail_all(self, reason: str) -> None:
        for answer in self._answers.values():
            if not answer.done():
                answer.set_exception(Lost(reason))
