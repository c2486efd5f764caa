"""A lean generator: connections, each of which sends the next event when the last one is answered."""

from __future__ import annotations

import asyncio
import itertools
import json
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import aiohttp

from bench.rows import TEXT
from headrace.core import times
from headrace_client import ConnectionSettings, Sender, over_websocket
from headrace_client.sending import with_id_and_time
from headrace_client.websocket import SocketTransport
from loadtest.client.target import Target
from loadtest.client.websocket import SUBPROTOCOL

CONNECTIONS = 8
FRAME = 25
ANSWER_SECONDS = 20.0

Send = Callable[[int], Awaitable[None]]
"""Sends the event with a number and waits for its answer. An event that is not accepted ends the benchmark."""


def message(number: int) -> dict[str, Any]:
    message_id = times.new_message_id(time.time_ns() // 1000)
    return {"roomId": f"room-{number % CONNECTIONS}", "messageId": message_id, "message": TEXT.format(number)}


def single_frame(number: int, action: str = "sendMessage") -> dict[str, Any]:
    return {"action": action, "requestId": number, **message(number)}


def full_frame(number: int) -> dict[str, Any]:
    events = [message(number * FRAME + each) for each in range(FRAME)]
    return {"action": "sendBatch", "requestId": number, "events": events}


def ride(number: int) -> tuple[str, dict[str, Any]]:
    path = f"/skiers/1/seasons/2025/days/1/skiers/{number + 1}"
    return path, {"time": number % 1440, "liftID": number % 40 + 1}


def click(number: int) -> tuple[str, dict[str, Any]]:
    now = times.iso(time.time_ns() // 1000)
    body = {"clickId": f"click-{number}", "userId": f"user-{number % 500}", "adType": "banner", "clickedAt": now}
    return f"/ads/ad-{number % 200}/clicks", body | {"address": f"198.51.100.{number % 254 + 1}"}


@asynccontextmanager
async def frames(target: Target, frame: Callable[[int], dict[str, Any]], place: int) -> AsyncIterator[Send]:
    """A WebSocket that sends frames."""
    token = target.token_for(f"singles-{place}", "chat:write")()
    async with (
        aiohttp.ClientSession() as session,
        session.ws_connect(target.websocket_url, protocols=[SUBPROTOCOL, token], compress=0) as socket,
    ):

        async def send(number: int) -> None:
            await socket.send_str(json.dumps(frame(number)))
            answer = await socket.receive_str(timeout=ANSWER_SECONDS)
            if '"error"' in answer or '"lane":"retry"' in answer:
                raise SystemExit(f"not accepted by the broker: {answer[:500]}")

        yield send


@asynccontextmanager
async def posts(
    target: Target, request: Callable[[int], tuple[str, dict[str, Any]]], place: int
) -> AsyncIterator[Send]:
    """An HTTP connection of a producer that sends POST requests. aiohttp's client would take twice the CPU."""
    host = urlsplit(target.http_url)
    token = target.token_for(f"singles-{place}", "events:write")()
    reader, writer = await asyncio.open_connection(host.hostname, host.port)
    head = f"HTTP/1.1\r\nhost: {host.netloc}\r\nauthorization: Bearer {token}\r\ncontent-type: application/json\r\n"

    async def send(number: int) -> None:
        path, content = request(number)
        body = json.dumps(content)
        writer.write(f"POST {path} {head}content-length: {len(body)}\r\n\r\n{body}".encode())
        answer = (await reader.readuntil(b"\r\n\r\n")).lower()
        text = await reader.readexactly(int(answer.partition(b"content-length:")[2].split(b"\r\n")[0]))
        if not answer.startswith((b"http/1.1 201", b"http/1.1 202")) or b'"lane":"retry"' in text:
            raise SystemExit(f"not accepted by the broker: {text.decode()[:500]}")

    try:
        yield send
    finally:
        writer.close()


@asynccontextmanager
async def client(target: Target, place: int) -> AsyncIterator[Send]:
    """The Python client, which sends what its tasks give it while a frame is out with the next one."""
    async with over_websocket(target.websocket_url, target.token_for(f"singles-{place}", "chat:write")) as sender:

        async def send(number: int) -> None:
            await sender.send([message(number)])

        yield send


async def single_task(target: Target, numbers: Iterator[int], seconds: float, rate: float) -> list[list[float]]:
    """Send over one connection of the Python client, in turn by its sender and past it, as if it gathered nothing.

    Each way has ``rate`` messages a second, one at a time; returns the sorted seconds until the answers of each.
    """
    settings = ConnectionSettings(connect_timeout=60.0)  # all functions begin cold
    transport = SocketTransport(target.websocket_url, target.token_for("singles", "chat:write"), settings)
    found: list[list[float]] = [[], []]
    way = 0
    async with Sender(transport) as sender:
        await sender.send([message(next(numbers))])
        start = time.perf_counter()
        for turn in range(int(2 * rate * seconds)):
            way = random.randrange(2) if turn % 2 == 0 else 1 - way  # so that nothing periodic meets only one of them
            event = with_id_and_time(message(next(numbers)))
            await asyncio.sleep(start + turn / (2 * rate) - time.perf_counter())
            began = time.perf_counter()
            await (transport.post if way else sender.send)([event])
            found[way].append(time.perf_counter() - began)
    return [sorted(each) for each in found]


class Kind(NamedTuple):
    """The events of one request, its connections, and how many ``tasks`` share one; 0: each has its own."""

    events: int
    connect: Callable[[Target, int], Any]
    tasks: int = 0


KINDS: dict[str, Kind] = {
    "message": Kind(1, lambda target, place: frames(target, single_frame, place)),
    "message of 64 tasks of a Python client": Kind(1, client, 64),
    f"message in a frame of {FRAME}": Kind(FRAME, lambda target, place: frames(target, full_frame, place)),
    "ride": Kind(1, lambda target, place: posts(target, ride, place)),
    "click": Kind(1, lambda target, place: posts(target, click, place)),
    "echo": Kind(1, lambda target, place: frames(target, partial(single_frame, action="echo"), place)),
}
"""What is sent, by the kind of event."""


class Sent(NamedTuple):
    """What one kind took: ``events`` in ``seconds``, and the sorted seconds until each answer."""

    events: int
    seconds: float
    latencies: list[float]


async def send(
    target: Target,
    kind: Kind,
    numbers: Iterator[int],
    seconds: float,
    connections: int = CONNECTIONS,
    answered: Callable[[int, float], object] = lambda _number, _began: None,
    rate: float = 0.0,
) -> Sent:
    """Send events of a ``kind`` for some seconds, over connections that are open before.

    ``answered`` gets the number of each event that is accepted, and when it was sent (``time.perf_counter``). ``rate``
    is that of all connections, in requests per second; 0: as fast as they are answered.
    """
    latencies: list[float] = []
    async with AsyncExitStack() as stack:
        places = range(1 if kind.tasks else connections)
        opened = [await stack.enter_async_context(kind.connect(target, place)) for place in places] * (kind.tasks or 1)
        start = time.perf_counter()

        async def one(place: int, post: Send) -> None:
            for turn in itertools.count():
                if rate:
                    await asyncio.sleep(start + (turn * connections + place) / rate - time.perf_counter())
                if (began := time.perf_counter()) >= start + seconds:
                    return
                number = next(numbers)
                await post(number)
                latencies.append(time.perf_counter() - began)
                answered(number, began)

        await asyncio.gather(*(one(place, post) for place, post in enumerate(opened)))
        return Sent(kind.events * len(latencies), time.perf_counter() - start, sorted(latencies))
