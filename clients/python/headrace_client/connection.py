"""A WebSocket connection that is opened again after each end, with requests and their answers."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import random
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import aiohttp

from .errors import GATEWAY_CODES, HeadraceError, NoToken, Refused, Unavailable, Unreachable, error_of
from .session import address, handshake_url, opened_session, reason_of
from .tokens import Token, given_token, token_of

_log = logging.getLogger("headrace_client")
SUBPROTOCOL = "headrace.v1"
Frame = dict[str, Any]
FAILURES = (aiohttp.ClientError, TimeoutError, OSError, Unavailable)
"""After these, another connection can succeed."""


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
    request, and ``ended`` when no further connection is made. ``options`` are those of
    :class:`aiohttp.ClientSession`, as for HTTP.

    Raises:
        Refused: the address or the token has another form.
    """

    def __init__(
        self,
        url: str,
        token: Token,
        settings: ConnectionSettings,
        *,
        opened: Callable[[], Awaitable[None]] = lambda: asyncio.sleep(0),
        received: Callable[[Frame], object] = lambda _frame: None,
        ended: Callable[[], object] = lambda: None,
        **options: Any,
    ) -> None:
        self._url = address(url, "ws", "wss")
        self._token = given_token(token)
        self._settings = settings
        self._options = options
        self._opened = opened
        self._received = received
        self._ended = ended
        self._running: asyncio.Task[None] | None = None
        self._answers: dict[str, asyncio.Future[Frame]] = {}
        self._number = 0
        self._socket: aiohttp.ClientWebSocketResponse | None = None
        self._changed = asyncio.Event()
        self._tasks = asyncio.TaskGroup()
        """What runs while a connection is open. An error of one of them ends the others and the connection."""
        self._work: asyncio.Task[None] | None = None
        """Runs ``opened``."""
        self._is_answered = self._is_refused = False
        """Whether a request was answered on the last connection, and whether its token was refused."""
        self._expires_at = 0.0
        """When the connection's token expires, as far as answers have said: seconds of the epoch."""
        self._expiry_known = asyncio.Event()
        self.renewals = 0
        """How often the token of a connection was renewed."""
        self.opens = 0
        """The number of connections opened so far."""
        self.failure = "not connected"
        """The reason why no connection is open."""
        self.refusal: HeadraceError | None = None
        """The error after which no further connection is made: a :class:`Refused`, or one with an unknown cause."""
        self._is_ended = False
        self._error: Exception | None = None
        """The error of the last attempt to connect."""

    async def open(self) -> None:
        """Start to connect in the background."""
        self._running = asyncio.create_task(self.run())

    async def close(self) -> None:
        """Close the connection for good."""
        if self._running is not None:
            self._running.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._running

    async def wait(self) -> None:
        """Wait until a connection is open.

        Raises:
            HeadraceError: no further connection is made, as :attr:`refusal` says.
            Unreachable: the first connection did not open within ``connect_timeout``.
            NoToken: the same, because the function gave no token.
        """
        try:
            async with asyncio.timeout(None if self.opens else self._settings.connect_timeout):
                await self._changed.wait()
        except TimeoutError:
            said = f"cannot connect to {self._url}: {self.failure}"
            raise (NoToken(said) if isinstance(self._error, NoToken) else Unreachable(said, self._url)) from self._error
        self._check()

    def _check(self) -> None:
        if self._is_ended:
            raise self.refusal or Refused("closed", "the client is closed")

    async def request(self, action: str, /, **fields: Any) -> Frame:
        """Send a frame and return its answer. Fields named ``action`` or ``requestId`` are ignored.

        Raises:
            Refused: the answer is a permanent error, or the token was refused.
            Unavailable: no connection, no answer within ``answer_timeout``, or a temporary error.
            HeadraceError: no further connection is made, as :attr:`refusal` says.
        """
        self._check()
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
        self._work = self.start(self._opened)

    def start(self, work: Callable[..., Awaitable[None]], *args: Any) -> asyncio.Task[None]:
        """Run ``work(*args)`` while the connection is open. Its error ends the client, as :attr:`refusal` says."""

        async def guarded() -> None:
            with _unknown_as_ours():
                await work(*args)

        return self._tasks.create_task(guarded())

    async def reconnect(self) -> None:
        """Close the connection, if one is open. :meth:`run` then opens another."""
        if self._socket is not None:
            await self._socket.close()

    async def run(self) -> None:
        """Open a connection, and another after each end, until an error that another connection would not mend.

        That is a refused token, or an error that this client does not know, such as one of a program's callback.
        """
        try:
            with _unknown_as_ours():
                async with opened_session(self._settings.answer_timeout, self._options) as session:
                    await self._run(session)
        except HeadraceError as error:
            _log.error("no further connection to %s: %s", self._url, error)
            self.refusal = error
        finally:
            self._is_ended = True
            self._changed.set()
            self._ended()

    async def _run(self, session: aiohttp.ClientSession) -> None:
        tries = 0
        while True:
            self._is_answered = False
            try:
                await self._serve(session)
            except FAILURES as error:
                self.failure, self._error = reason_of(error), error
            tries = 1 if self._is_answered else tries + 1
            # Full jitter: clients that lost their connections together must not reconnect together.
            longest = min(self._settings.longest_pause, self._settings.first_pause * 2 ** min(tries, 16))
            pause = random.uniform(0, longest)  # noqa: S311
            _log.warning("connecting to %s again in %.1f s: %s", self._url, pause, self.failure)
            await asyncio.sleep(pause)

    async def _serve(self, session: aiohttp.ClientSession) -> None:
        """Open one connection and read from it until it ends, which is an error too."""
        _log.debug("connecting to %s", self._url)
        token = await token_of(self._token)
        try:
            # API Gateway's largest message has 128 KB, such as a page of history.
            socket = await session.ws_connect(
                handshake_url(self._url), protocols=(SUBPROTOCOL, token), max_msg_size=256 * 1024
            )
        except aiohttp.WSServerHandshakeError as error:
            if error.status not in GATEWAY_CODES:
                raise
            is_last = self._is_refused or error.status != 401 or not callable(self._token)
            self._is_refused = True
            kind = Refused(GATEWAY_CODES[error.status], "the token is not accepted")
            raise kind if is_last else Unavailable(str(kind)) from None
        self._is_refused = False
        self.opens += 1
        _log.debug("connected to %s", self._url)
        self._expires_at = 0.0
        self._expiry_known.clear()
        try:
            async with asyncio.TaskGroup() as self._tasks:
                try:
                    self._socket = socket
                    self._work = self.start(self._opened)
                    self.start(self._renew)
                    self._changed.set()
                    async for frame in socket:
                        if frame.type is aiohttp.WSMsgType.TEXT:
                            self._receive(frame.data)
                    raise Unavailable("the connection ended")
                finally:
                    self._socket = None
                    self._changed.clear()
                    self._fail_all("the connection ended")
        except ExceptionGroup as group:
            first = min(group.exceptions, key=lambda error: isinstance(error, FAILURES))
            raise first from first.__cause__
        finally:
            await socket.close()

    def _receive(self, text: str) -> None:
        try:
            frame = json.loads(text)
        except (ValueError, RecursionError):
            frame = None
        if not isinstance(frame, dict):
            raise Unavailable("a frame that is not a JSON object")
        answer = self._answers.get(str(frame.get("requestId")))
        if "type" not in frame:
            # An error of API Gateway itself, such as throttling, does not name the request. So all requests fail.
            self._fail_all(str(frame.get("message", "refused")))
        elif answer is None:
            with _unknown_as_ours():
                self._received(frame)
        elif not answer.done():
            self._is_answered = True
            answer.set_result(frame)

    def _fail_all(self, reason: str) -> None:
        for answer in self._answers.values():
            if not answer.done():
                answer.set_exception(Unavailable(reason))


@contextlib.contextmanager
def _unknown_as_ours() -> Iterator[None]:
    """Raise an error that is not a :class:`HeadraceError` as one. It does not end a connection, whatever its type."""
    try:
        yield
    except HeadraceError:
        raise
    except Exception as error:
        raise HeadraceError(f"following ended with an error: {type(error).__name__}: {error}") from error
