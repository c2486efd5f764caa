"""All operations of the HTTP API: :class:`AsyncHeadrace` with coroutines, and :class:`Headrace` with plain methods."""

from __future__ import annotations

import asyncio
import logging
import os
import random
import re
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Generic, Literal, TypedDict, TypeVar

from .attachments import file_of
from .calls import Sent
from .errors import NoToken, RateLimited, Refused, Unavailable, Unreachable
from .http import NOT_OPEN, HttpTransport, checked
from .operations import Operations, _segment
from .pace import Pace, SendSettings
from .request import waiting
from .sending import Sendable, Sender, with_click_id, with_id_and_time
from .stream import AsyncStream, Stream, identified
from .tokens import Token
from .types import FileType, LinkedAttachment, SentAttachment

_log = logging.getLogger("headrace_client")
NOT_REPEATABLE = ("/dead-letters/", "/parked/")
"""The POST requests that do more if they are repeated. Only a refusal for their rate leads to another attempt."""
ADDRESS_SECONDS = 600.0
"""How long the address of an upload is good."""
IDENTIFIED = {
    r"/messages/batch|/rooms/[^/]+/messages": with_id_and_time,
    r"/streams/[^/]+/events": identified,
    r"/clicks/batch|/ads/[^/]+/clicks": with_click_id,
}
"""What gives an event of a path its id and time, so that it stays the same when the request is repeated."""
Kind = Literal["messages", "rides", "clicks"]
Item = TypeVar("Item")
Result = TypeVar("Result")


class Page(TypedDict, Generic[Item]):
    """What all pages have in common."""

    items: list[Item]
    next: str | None
    hasMore: bool


class AsyncHeadrace(Operations):
    """The HTTP API at ``url``; each operation is a coroutine, such as ``await client.list_messages("lobby")``.

    Requests that are refused for a time are repeated as ``Retry-After`` says, messages under the same id, until
    ``settings.retry_timeout``. ``answer_seconds`` is the timeout of each attempt. ``options`` are those of
    :class:`aiohttp.ClientSession`, such as ``proxy``; the variables ``HTTPS_PROXY`` and ``NO_PROXY`` are obeyed.
    """

    def __init__(
        self,
        url: str,
        token: Token,
        settings: SendSettings | None = None,
        *,
        answer_seconds: float = 30.0,
        **options: Any,
    ) -> None:
        self._settings = settings or SendSettings()
        self._http = HttpTransport(url, token, answer_seconds, **options)
        rides, clicks = (partial(self._http.batch, path) for path in ("/lift-rides/batch", "/clicks/batch"))
        self._senders = {
            "messages": Sender(self._http, settings),
            # The fields of a ride are its identity.
            "rides": Sender(self._http, settings, post=rides, identify=lambda ride: ride),
            "clicks": Sender(self._http, settings, post=clicks, identify=with_click_id),
        }
        self._streams: dict[str, AsyncStream] = {}

    async def __aenter__(self) -> AsyncHeadrace:
        await self._http.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        for sender in (*self._senders.values(), *(stream.sender for stream in self._streams.values())):
            await sender.close()
        await self._http.close()

    async def send(
        self, events: Sequence[Sendable], kind: Kind = "messages", *, raise_for_errors: bool = True
    ) -> list[Sent]:
        """Send messages, lift rides or ad clicks until each is accepted, as :meth:`Sender.send`.

        A click without an id and a time gets both. A ride is sent as it is.

        Raises:
            ValueError: there is no such kind.
        """
        if kind not in self._senders:
            raise ValueError(f"kind: {kind!r} is not one of {', '.join(self._senders)}")
        return await self._senders[kind].send(events, raise_for_errors=raise_for_errors)

    def stream(self, name: str) -> AsyncStream:
        """The declared stream ``name``, whose events can be sent, read and counted."""
        return self._streams.setdefault(name, AsyncStream(self, name))

    async def items(
        self, operation: Callable[..., Awaitable[Page[Item]]], *args: Any, **query: Any
    ) -> AsyncIterator[Item]:
        """The items of all pages: ``async for message in client.items(client.list_messages, "lobby")``."""
        page = await operation(*args, **query)
        while True:
            for item in page["items"]:
                yield item
            if not page["hasMore"]:
                return
            page = await operation(*args, **_of_next(page, query))

    async def request(self, method: str, path: str, query: Mapping[str, Any] | None = None, body: Any = None) -> Any:
        """Send a request to any path, and repeat it while that is safe and it may succeed.

        Raises:
            Refused: a permanent error.
            Unavailable: no answer or a temporary error, also in the last attempt.
        """
        body = _with_ids(method, path, body)

        async def ask() -> Any:
            await asyncio.sleep(self._http.free_at.get(method, 0.0) - time.monotonic())
            return checked(*await self._http.ask(method, path, query, body))

        return await self._repeat(ask, method, method != "POST" or not path.startswith(NOT_REPEATABLE))

    async def upload(
        self, room_id: str | int, data: bytes | os.PathLike[str], name: str | None = None, type: FileType | None = None
    ) -> SentAttachment:
        """Upload a file for a message to a room; returns what the message's ``attachments`` name.

        ``data`` is the file or its path, whose name it gets if none is given. The type is guessed from the name. A file
        that no message names is removed after a day.

        Raises:
            ValueError: the file is empty or too large, or has no name.
            OSError: the file cannot be read.
            Refused: a permanent error.
            Unavailable: no answer or a temporary error, also in the last attempt.
        """
        file = await asyncio.to_thread(file_of, data, name, type)
        asked = {"type": file.type, "bytes": len(file.data)}
        for is_second in (False, True):
            expires_at = time.monotonic() + ADDRESS_SECONDS
            begun = await self.request("POST", f"/rooms/{_segment(room_id)}/attachments", body=asked)
            upload = begun["upload"]
            try:
                await self._repeat(partial(self._http.put, upload["url"], upload["headers"], file.data), "an upload")
                break
            except Refused as error:
                if is_second or error.code != "forbidden" or time.monotonic() < expires_at:
                    raise
        return {"id": begun["id"], "name": file.name, "type": file.type, "bytes": len(file.data)}

    async def attachments(self, room_id: str | int, key: str) -> list[LinkedAttachment]:
        """The attachments of a message with new addresses, which are good for ten minutes."""
        path = f"/rooms/{_segment(room_id)}/messages/{_segment(key)}/attachments"
        found: list[LinkedAttachment] = (await self.request("GET", path))["attachments"]
        return found

    async def _repeat(self, work: Callable[[], Awaitable[Result]], named: str, is_safe: bool = True) -> Result:
        """Do ``work`` until it succeeds. If it is not safe, it is repeated only if it was not done."""
        pace = Pace(self._settings, random.uniform)
        while True:
            try:
                return await work()
            except Unavailable as error:
                safe = is_safe or isinstance(error, (RateLimited, NoToken))
                pause = pace.retry(time.monotonic(), error.retry_after)
                if isinstance(error, Unreachable) or not safe or pause is None:
                    raise
                _log.info("repeating %s in %.1f s: %s", named, pause, error)
            await asyncio.sleep(pause)


def _of_next(page: Page[Any], query: Mapping[str, Any]) -> dict[str, Any]:
    """The query of the page after ``page``. A cursor has the rest of the query, except a position and the filters.

    A query with ``after`` goes on to newer items.
    """
    if query.get("since") is not None:
        return {**query, "before": page["next"]}
    kept = {name: query[name] for name in ("limit", "filters") if name in query}
    newer = page.get("previous") if query.get("after") is not None else None
    return {"cursor": newer or page["next"], **kept}


def _with_ids(method: str, path: str, body: Any) -> Any:
    """The body with an id and a time for each event, so that a repeated event stays the same."""
    for pattern, identify in IDENTIFIED.items():
        if method == "POST" and isinstance(body, dict) and re.fullmatch(pattern, path):
            events = body.get("events")
            if not isinstance(events, list):
                return identify(body)
            return {**body, "events": [identify(each) if isinstance(each, dict) else each for each in events]}
    return body


class Headrace(Operations):
    """:class:`AsyncHeadrace` for programs without asyncio. Its parameters are the same.

    It can be shared between threads. The requests run in an event loop in a thread.
    """

    def __init__(self, url: str, token: Token, settings: SendSettings | None = None, **options: Any) -> None:
        self._inner = AsyncHeadrace(url, token, settings, **options)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="headrace_client", daemon=True)
        self._is_open, self._lock = False, threading.Lock()

    def __enter__(self) -> Headrace:
        self._thread.start()
        self._is_open = True
        try:
            self._run(self._inner.__aenter__())
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._is_open = False  # what comes now would wait for a loop that has ended
        asyncio.run_coroutine_threadsafe(self._inner.__aexit__(*error), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _run(self, work: Coroutine[Any, Any, Result]) -> Result:
        with self._lock:
            if not self._is_open:
                work.close()
                raise RuntimeError(NOT_OPEN)
            answer = asyncio.run_coroutine_threadsafe(work, self._loop)
        return answer.result()

    request = waiting(AsyncHeadrace.request)
    send = waiting(AsyncHeadrace.send)
    upload = waiting(AsyncHeadrace.upload)
    attachments = waiting(AsyncHeadrace.attachments)

    def stream(self, name: str) -> Stream:
        """The declared stream ``name``, as :meth:`AsyncHeadrace.stream`."""
        return Stream(self, name)

    def items(self, operation: Callable[..., Page[Item]], *args: Any, **query: Any) -> Iterator[Item]:
        """The items of all pages: ``for message in client.items(client.list_messages, "lobby")``."""
        page = operation(*args, **query)
        while True:
            yield from page["items"]
            if not page["hasMore"]:
                return
            page = operation(*args, **_of_next(page, query))
