"""Sends events until each is accepted or permanently refused.

    async with over_http("https://host", token) as sender:
        await sender.send([{"roomId": "kitchen", "message": "hello"}])

Events with a temporary error (429, 503, no answer) are sent again with the same id and time. So each stays the same
event, even if an earlier attempt was accepted. The rate adapts to refusals (:mod:`.pace`).
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import random
import time
import uuid
from collections.abc import Awaitable, Callable, Generator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol, cast

from .connection import ConnectionSettings
from .errors import TEMPORARY, NotAccepted, RateLimited, Refused, Unavailable, Unreachable
from .http import HttpTransport
from .pace import Pace, SendSettings
from .tokens import Token
from .types import Error, IncomingClick, IncomingMessage, IncomingRide
from .websocket import SocketTransport

_log = logging.getLogger("headrace_client")

Event = dict[str, Any]
Result = dict[str, Any]
Sendable = IncomingMessage | IncomingRide | IncomingClick | Event


@dataclass(frozen=True)
class Sent:
    """The result of one event: the ``lane`` that accepted it, or the ``error`` (code, message, …).

    ``event`` is the event as it was sent, with its id and time. ``seconds`` is the time until its last answer.
    """

    event: Event
    lane: str | None = None
    error: Error | None = None
    seconds: float = 0.0

    @property
    def is_accepted(self) -> bool:
        """Whether the event was accepted."""
        return self.error is None


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


Step = float | list[Event]
"""What a sender does next: it waits for so many seconds, or posts these events."""
Steps = Generator[Step, list[Result] | None, list[Sent]]


class SendLoop:
    """Decides what is sent when, until each event is accepted or permanently refused. It sends nothing itself.

    ``identify`` adds a missing id and time to an event. ``uniform`` is that of :class:`Pace`. Once ``stopped`` returns
    true, the next refusal is the last.
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
        self._identify = identify
        self._clock = clock
        self._stopped = stopped
        self.pace = Pace(settings or SendSettings(), uniform)

    def steps(self, given: Sequence[Event]) -> Steps:
        """Yield each step; after events it takes their results. Return one :class:`Sent` per event."""
        events = [self._identify(event) for event in given]
        began = self._clock()
        done: dict[int, Sent] = {}
        left = list(range(len(events)))
        while left:
            if delay := self.pace.delay(self._clock()):
                yield delay
            batch = self._next_batch(events, left)
            self.pace.sent(len(batch), self._clock())
            results = (yield [events[index] for index in batch]) or []
            seconds = self._clock() - began
            settled = {
                index: _sent(events[index], result, seconds)
                for index, result in zip(batch, results, strict=True)
                if not is_temporary(result)
            }
            done |= settled
            left = [index for index in left if index not in settled]
            if len(settled) == len(batch):
                self.pace.accepted(self._clock())
                continue
            last = next(result for result in results if is_temporary(result))
            pause = self.pace.refused(self._clock(), _retry_after(results), is_first=bool(settled))
            if pause is None or self._stopped():
                done |= {index: _sent(events[index], last, seconds) for index in left}
                break
            why = last["error"].get("message") or last["error"]["code"]
            _log.info("sending %d of %d events again in %.1f s: %s", len(left), len(events), pause, why)
            yield pause
        return [done[index] for index in range(len(events))]

    def _next_batch(self, events: Sequence[Event], left: Sequence[int]) -> list[int]:
        """The first indexes of ``left`` whose events fit one request."""
        batch = list(left[: min(self._limits.max_events, self.pace.batch_size())])
        if len(json.dumps([events[index] for index in batch])) <= self._limits.max_bytes:
            return batch  # the usual case: one call is much faster than one for each event
        size = 0
        for place, index in enumerate(batch):
            size += len(json.dumps(events[index])) + 2
            if place and size > self._limits.max_bytes:
                return batch[:place]
        return batch


class Sender:
    """Sends events over ``transport``, one request at a time. Concurrent calls of :meth:`send` wait for each other.

    ``post`` sends a request, by default as the transport does. ``options`` are those of :class:`SendLoop`.
    """

    def __init__(
        self,
        transport: Transport,
        settings: SendSettings | None = None,
        *,
        post: Callable[[Sequence[Event]], Awaitable[list[Result]]] | None = None,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        **options: Any,
    ) -> None:
        self._transport = transport
        self._post = post or transport.post
        self._sleep = sleep
        self._lock = asyncio.Lock()
        self._loop = SendLoop(transport, settings, **options)
        self.pace = self._loop.pace

    async def __aenter__(self) -> Sender:
        await self._transport.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._transport.close()

    async def send(self, events: Sequence[Sendable], *, raise_for_errors: bool = True) -> list[Sent]:
        """Send ``events``; returns one result per event, in order.

        It ends when each event is accepted or permanently refused, or when none was accepted for
        ``SendSettings.retry_timeout``. With ``raise_for_errors=False`` errors are results too.

        Raises:
            NotAccepted: some events were not accepted; its ``sent`` has the results.
            Unreachable: no request was answered yet, and nothing answers at the address.
        """
        async with self._lock:
            steps = self._loop.steps(cast("Sequence[Event]", events))
            step, sent = advance(steps, None)
            while step is not None:
                results = None
                if isinstance(step, float):
                    await self._sleep(step)
                else:
                    try:
                        results = await self._post(step)
                    except Unreachable:
                        raise
                    except (Unavailable, Refused) as error:
                        results = failed(error, len(step))
                step, sent = advance(steps, results)
            return checked(sent) if raise_for_errors else sent


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


def checked(sent: list[Sent]) -> list[Sent]:
    """``sent``, if all events were accepted; else raises :class:`NotAccepted`."""
    if all(each.is_accepted for each in sent):
        return sent
    raise NotAccepted(sent)


def advance(steps: Steps, results: list[Result] | None) -> tuple[Step | None, list[Sent]]:
    """The next step after the ``results`` of the last one; without a next step the result of each event."""
    try:
        return steps.send(results), []
    except StopIteration as ended:
        return None, list(ended.value)


def failed(error: Unavailable | Refused, count: int) -> list[Result]:
    """The results of ``count`` events whose request failed."""
    if isinstance(error, Refused):
        return [{"error": {"code": error.code, "message": error.message}}] * count
    code = "rate_limited" if isinstance(error, RateLimited) else "unavailable"
    return [{"error": {"code": code, "message": str(error), "retryAfter": error.retry_after}}] * count


def _sent(event: Event, result: Result, seconds: float) -> Sent:
    error = result.get("error")
    return Sent(event, None if error else str(result.get("lane", "")), error or None, seconds)


def is_temporary(result: Result) -> bool:
    """Whether the event of ``result`` was refused and may be accepted later."""
    error = result.get("error")
    return error is not None and (error.get("code") in TEMPORARY or error.get("retryAfter") is not None)


def _retry_after(results: Sequence[Result]) -> float | None:
    """The longest ``retryAfter`` in ``results``, in seconds; ``None`` without one."""
    said = [each["error"]["retryAfter"] for each in results if is_temporary(each) and each["error"].get("retryAfter")]
    return max((float(each) for each in said), default=None)
