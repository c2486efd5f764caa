"""Sends events until each is accepted or refused for good.

    async with over_http("https://host", token) as sender:
        for each in await sender.send([{"roomId": "kitchen", "message": "hello"}]):
            print(each.lane or each.error)

What is refused for the time being (429, 503, no answer) is sent again, and only that, under the same id and time: so it
is the same event, whatever became of the first try. The pace follows what is accepted (:mod:`.pace`).
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Protocol

from .connection import MAY_PASS, Lost, Patience, Refused
from .pace import Pace, Tempo
from .transports import HttpTransport, SocketTransport

Event = dict[str, Any]
Result = dict[str, Any]


@dataclass(frozen=True)
class Sent:
    """What became of ``event``, as it was sent: the ``lane`` that has it, or the ``error`` (code, message, …)."""

    event: Event
    lane: str | None = None
    error: dict[str, Any] | None = None

    @property
    def is_accepted(self) -> bool:
        """Whether it is kept."""
        return self.error is None


class Transport(Protocol):
    """A way to send: at most ``most_events`` and ``most_bytes`` of JSON at once."""

    most_events: int
    most_bytes: int

    async def open(self) -> None:
        """Get ready."""
        ...

    async def close(self) -> None:
        """End."""
        ...

    async def post(self, events: Sequence[Event]) -> list[Result]:
        """One result per event, in order.

        Raises:
            Lost: no answer, or one that may be another next time.
            Refused: one that will not.
        """
        ...


def stamped(event: Event) -> Event:
    """A message with its own id and time: without them, sending it again would be another message."""
    now = datetime.now(UTC)
    moment = int(now.timestamp() * 1000).to_bytes(6, "big").hex()
    chance = os.urandom(10).hex()
    uuid7 = f"{moment[:8]}-{moment[8:]}-7{chance[:3]}-8{chance[3:6]}-{chance[6:18]}"
    return {"messageId": uuid7, "timestamp": now.strftime("%Y-%m-%dT%H:%M:%S.%fZ"), **event}


class Sender:
    """Sends over ``transport``, one request at a time; calls take turns.

    ``stamp`` gives an event its id and time, if it has none. ``dice`` as for :class:`Pace`.
    """

    def __init__(
        self,
        transport: Transport,
        tempo: Tempo | None = None,
        *,
        stamp: Callable[[Event], Event] = stamped,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        dice: Callable[[float, float], float] = random.uniform,
    ) -> None:
        self._transport = transport
        self._tempo = tempo or Tempo()
        self._stamp = stamp
        self._clock = clock
        self._sleep = sleep
        self._turn = asyncio.Lock()
        self.pace = Pace(self._tempo, dice)

    async def __aenter__(self) -> Sender:
        await self._transport.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._transport.close()

    async def send(self, events: Sequence[Event]) -> list[Sent]:
        """What became of each event, in order. Never raises for what the other side says."""
        async with self._turn:
            return await self._send([self._stamp(event) for event in events])

    async def _send(self, events: Sequence[Event]) -> list[Sent]:
        done: dict[int, Sent] = {}
        left = list(range(len(events)))
        tries = 0
        while left:
            await self._sleep(self.pace.delay(self._clock()))
            portion = self._portion(events, left)
            results = await self._post([events[index] for index in portion])
            settled = {
                index: _sent(events[index], result)
                for index, result in zip(portion, results, strict=True)
                if not _may_pass(result)
            }
            done |= settled
            left = [index for index in left if index not in settled]
            if len(settled) == len(portion):
                tries = 0
                self.pace.accepted(self._clock())
                continue
            tries = 1 if settled else tries + 1
            if tries >= self._tempo.tries:
                last = next(result for result in results if _may_pass(result))
                done |= {index: _sent(events[index], last) for index in left}
                break
            await self._sleep(self.pace.refused(tries, _advice(results)))
        return [done[index] for index in range(len(events))]

    def _portion(self, events: Sequence[Event], left: Sequence[int]) -> list[int]:
        """The first of ``left`` that may go out together."""
        most = min(self._transport.most_events, self.pace.portion())
        portion: list[int] = []
        size = 0
        for index in left[:most]:
            size += len(json.dumps(events[index])) + 2
            if portion and size > self._transport.most_bytes:
                break
            portion.append(index)
        return portion

    async def _post(self, events: Sequence[Event]) -> list[Result]:
        self.pace.sent(len(events), self._clock())
        try:
            return await self._transport.post(events)
        except Lost as error:
            missing = {"code": "unavailable", "message": str(error), "retryAfter": error.retry_after}
            return [{"error": missing}] * len(events)
        except Refused as error:
            return [{"error": {"code": error.code, "message": str(error)}}] * len(events)


def over_http(
    url: str, token: Callable[[], str], tempo: Tempo | None = None, *, answer_seconds: float = 30.0
) -> Sender:
    """Sends messages over HTTP: one alone, several as batches. ``token`` is called for every request."""
    return Sender(HttpTransport(url, token, answer_seconds), tempo)


def over_websocket(
    url: str, token: Callable[[], str], tempo: Tempo | None = None, *, patience: Patience | None = None
) -> Sender:
    """Sends messages over one WebSocket, opened again whenever it ends. ``token`` is called for every connection."""
    return Sender(SocketTransport(url, token, patience or Patience()), tempo)


def _sent(event: Event, result: Result) -> Sent:
    error = result.get("error")
    return Sent(event, error=error) if error else Sent(event, str(result.get("lane", "")))


def _may_pass(result: Result) -> bool:
    error = result.get("error")
    return error is not None and (error.get("code") in MAY_PASS or error.get("retryAfter") is not None)


def _advice(results: Sequence[Result]) -> float | None:
    """The longest wait that any of ``results`` asks for."""
    said = [each["error"]["retryAfter"] for each in results if _may_pass(each) and each["error"].get("retryAfter")]
    return max((float(each) for each in said), default=None)
