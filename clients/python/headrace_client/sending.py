"""Sends events until each is accepted or permanently refused.

    async with over_http("https://host", token) as sender:
        await sender.send([{"roomId": "kitchen", "message": "hello"}])

Events with a temporary error (429, 503, no answer) are sent again with the same id and time. So each stays the same
event, even if an earlier attempt was accepted. The rate adapts to refusals (:mod:`.pace`). What is sent while a request
is out waits for its answer, and then shares the next request.
"""

from __future__ import annotations

import asyncio
import logging
import os
import random
import time
import uuid
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from typing import Any, Protocol, cast

from .calls import Answer, Call, Event, Result, Sent, checked, failed, is_temporary, retry_after
from .connection import ConnectionSettings
from .errors import Refused, Unavailable, Unreachable
from .http import HttpTransport
from .pace import Pace, SendSettings
from .tokens import Token
from .types import IncomingClick, IncomingMessage, IncomingRide
from .websocket import SocketTransport

_log = logging.getLogger("headrace_client")

Sendable = IncomingMessage | IncomingRide | IncomingClick | Event


class Limits(Protocol):
    """One request has at most ``max_events`` events and ``max_bytes`` bytes of JSON."""

    max_events: int
    max_bytes: int


class Transport(Limits, Protocol):
    """Sends one request."""

    async def open(self) -> None:
        """Prepare for :meth:`post`."""
        ...

    async def close(self) -> None:
        """Release all resources."""
        ...

    async def post(self, events: Sequence[Event]) -> list[Result]:
        """Send ``events``; returns one result per event, in order.

        Raises:
            Unavailable: no answer, or a temporary error of the whole request.
            Refused: a permanent error of the whole request.
        """
        ...


def uuid7(moment: datetime, randomness: int) -> str:
    """A UUIDv7 for ``moment`` with the 74 bits of ``randomness``; the same arguments give the same id."""
    millis = int(moment.timestamp()) * 1000 + moment.microsecond // 1000
    low = randomness & ((1 << 62) - 1)
    value = (millis << 80) | (7 << 76) | (((randomness >> 62) & 0xFFF) << 64) | (2 << 62) | low
    return str(uuid.UUID(int=value))


def with_id_and_time(event: Event, id_field: str = "messageId") -> Event:
    """``event`` with a new id and the current time, unless it has its own. Without them, a retry is a new event."""
    now, chance = datetime.now(UTC), int.from_bytes(os.urandom(10))  # not of a seed, which processes could share
    return {id_field: uuid7(now, chance), "timestamp": now.strftime("%Y-%m-%dT%H:%M:%S.%fZ"), **event}


CLICK_NAMES = ("clickId", "messageId", "clickedAt", "timestamp")
"""The names of a click's id and of its time: both have a second one, as in other click pipelines."""


def with_click_id(click: Event) -> Event:
    """``click``, with a new id and a time if it has neither. With one of them, or both, it is the same click again."""
    if any(click.get(name) is not None for name in CLICK_NAMES):
        return click
    return with_id_and_time({name: value for name, value in click.items() if name not in CLICK_NAMES}, "clickId")


Post = Callable[[Sequence[Event]], Awaitable[list[Result]]]
Sleep = Callable[[float], Awaitable[object]]
CLOSED = {"error": {"code": "closed", "message": "the client was closed before the stage answered"}}


class SendLoop:
    """Decides what is sent when, until each event is accepted or permanently refused.

    Calls that wait at the same time share requests, and keep their own errors and times. ``identify`` adds a missing id
    and time to an event. ``uniform`` is that of :class:`Pace`. Once ``stopped`` returns true, the next refusal is the
    last.
    """

    def __init__(
        self,
        limits: Limits,
        settings: SendSettings | None = None,
        *,
        identify: Callable[[Event], Event] = with_id_and_time,
        clock: Callable[[], float] = time.monotonic,
        uniform: Callable[[float, float], float] = random.uniform,
        stopped: Callable[[], bool] = lambda: False,
    ) -> None:
        self._limits = limits
        self._settings = settings or SendSettings()
        self._identify = identify
        self._clock = clock
        self._stopped = stopped
        self._calls: list[Call] = []
        self.pace = Pace(self._settings, uniform)

    def add(self, given: Sequence[Event], answer: Answer) -> None:
        """Send ``given`` with the next requests. If ``answer`` is cancelled, what was not sent yet stays unsent.

        Raises:
            TypeError, ValueError: an event cannot be written as JSON.
        """
        call = Call([self._identify(event) for event in given], answer, self._clock())
        for place, size in enumerate(call.sizes):
            if size > self._limits.max_bytes:
                said = f"the event has {size} bytes, and a request at most {self._limits.max_bytes}"
                call.settle(place, {"error": {"code": "too_large", "message": said}}, self._clock())
        self._calls.append(call)

    def close(self) -> None:
        """Answer all calls that wait; nothing more is sent for them."""
        for call in self._calls:
            call.end(CLOSED, self._clock())

    async def run(self, post: Post, sleep: Sleep) -> None:
        """Send until no call waits. If it ends early, all calls are answered."""
        pause = 0.0
        try:
            while self._waiting():
                await sleep(max(pause, self.pace.delay(self._clock())))  # also 0: who was answered may send more
                if batch := self._next_batch():
                    self.pace.sent(len(batch), self._clock())
                    try:
                        results = await post([call.left[place] for call, place in batch])
                    except Exception as error:  # noqa: BLE001 - the calls of this request raise it
                        results = self._failed(batch, error)
                    pause = self._settle(batch, results) if results else 0.0
        finally:
            self.close()

    def _waiting(self) -> list[Call]:
        self._calls = [call for call in self._calls if not call.answer.done()]
        return self._calls

    def _next_batch(self) -> list[tuple[Call, int]]:
        """The first events that fit one request, each by its call and its place there."""
        most, size = min(self._limits.max_events, self.pace.batch_size()), 0
        batch: list[tuple[Call, int]] = []
        for call in self._waiting():
            if batch and (call.is_alone or batch[0][0].is_alone):
                return batch
            for place in call.left:
                size += call.sizes[place]
                if batch and (len(batch) == most or size > self._limits.max_bytes):
                    return batch
                batch.append((call, place))
        return batch

    def _failed(self, batch: list[tuple[Call, int]], error: Exception) -> list[Result]:
        """The results of a request that failed; none if its calls raise the error, or try again alone."""
        calls = {call for call, _ in batch}
        if not isinstance(error, Unavailable) and len(calls) > 1:  # perhaps because of one event
            for call in calls:
                call.is_alone = True
            return []
        if isinstance(error, (Unavailable, Refused)) and not isinstance(error, Unreachable):
            return failed(error, len(batch))
        for call in calls:
            call.fail(error)
        return []

    def _settle(self, batch: list[tuple[Call, int]], results: list[Result]) -> float:
        """Take the results of a request; returns the seconds to wait. Its calls are then behind those that waited."""
        now, calls = self._clock(), dict.fromkeys(call for call, _ in batch)
        self._calls = [call for call in self._calls if call not in calls] + [*calls]
        refused: list[tuple[Call, Result]] = []
        for (call, place), result in zip(batch, results, strict=True):
            if is_temporary(result):
                refused.append((call, result))
            else:
                call.settle(place, result, now)
        if not refused:
            self.pace.accepted(now)
            return 0.0
        is_first = len(refused) < len(batch) or all(call.give_up_at is None for call, _ in refused)
        pause = self.pace.refused(retry_after(results), is_first=is_first)
        is_last = self._stopped()
        for call, result in refused:
            call.give_up_at = call.give_up_at or now + self._settings.retry_timeout
            if is_last or now + pause >= call.give_up_at:
                call.end(result, now)
        if self._waiting():
            why = result["error"].get("message") or result["error"]["code"]
            _log.info("sending %d of %d events again in %.1f s: %s", len(refused), len(batch), pause, why)
        return pause


class Sender:
    """Sends events over ``transport``, one request at a time, which all calls share that wait for the one before.

    ``post`` sends a request, by default as the transport does. ``options`` are those of :class:`SendLoop`.
    """

    def __init__(
        self,
        transport: Transport,
        settings: SendSettings | None = None,
        *,
        post: Post | None = None,
        sleep: Sleep = asyncio.sleep,
        **options: Any,
    ) -> None:
        self._transport = transport
        self._post = post or transport.post
        self._sleep = sleep
        self._loop = SendLoop(transport, settings, **options)
        self._running: asyncio.Task[None] | None = None
        self.pace = self._loop.pace

    async def __aenter__(self) -> Sender:
        await self._transport.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
        await self._transport.close()

    async def send(self, events: Sequence[Sendable], *, raise_for_errors: bool = True) -> list[Sent]:
        """Send ``events``; returns one result per event, in order.

        It ends when each event is accepted or permanently refused, or when none was accepted for
        ``SendSettings.retry_timeout``. With ``raise_for_errors=False`` errors are results too.

        Raises:
            NotAccepted: some events were not accepted, or the sender was closed; its ``sent`` has the results.
            Unreachable: no request was answered yet, and nothing answers at the address.
            TypeError, ValueError: an event cannot be written as JSON.
        """
        answer: asyncio.Future[list[Sent]] = asyncio.get_running_loop().create_future()
        self._loop.add(cast("Sequence[Event]", events), answer)
        if self._running is None or self._running.done():
            self._running = asyncio.create_task(self._loop.run(self._post, self._sleep))
        sent = await answer
        return checked(sent) if raise_for_errors else sent

    async def close(self) -> None:
        """Answer all calls that wait, with the error ``closed``. The transport stays open."""
        if self._running is not None:
            self._running.cancel()
            await asyncio.wait([self._running])
        self._loop.close()  # for calls whose task had not begun yet


def over_http(
    url: str, token: Token, settings: SendSettings | None = None, *, answer_seconds: float = 30.0, **options: Any
) -> Sender:
    """A sender over HTTP, with batches of several events. ``token`` gives the access token for each request.

    ``answer_seconds`` is the timeout of a request. ``options`` are those of :class:`aiohttp.ClientSession`.
    """
    return Sender(HttpTransport(url, token, answer_seconds, **options), settings)


def over_websocket(
    url: str,
    token: Token,
    settings: SendSettings | None = None,
    *,
    connection: ConnectionSettings | None = None,
    **options: Any,
) -> Sender:
    """A sender over one WebSocket, which is opened again after each end. ``token`` is called for each connection.

    ``options`` are those of :class:`aiohttp.ClientSession`.
    """
    return Sender(SocketTransport(url, token, connection or ConnectionSettings(), **options), settings)
