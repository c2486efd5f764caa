"""Follows a key of a declared stream over a separate connection."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections import OrderedDict
from collections.abc import AsyncIterator, Iterable
from typing import Any

from .arrivals import Arrivals
from .connection import Connection, ConnectionSettings, Frame
from .errors import RateLimited, Refused, Unavailable
from .tokens import Token

REMEMBERED = 10_000
"""Events whose keys are remembered: those that come twice are yielded once."""


class StreamFollower:
    """New events of a declared stream with one key; iterate over it to get each once.

        async with StreamFollower("wss://host/stage", token, "doors", "front") as events:
            async for event in events:
                if event is None: ...  # some may be missing: read the pages of the key

    It begins when it is entered, or at ``since``, the ``position`` of an earlier follower. Iteration ends with the
    error that refuses the token, the stream or the key. Entering raises Unreachable, or Refused for the token.
    ``options`` are those of :class:`aiohttp.ClientSession`, such as ``proxy``.
    """

    def __init__(
        self,
        url: str,
        token: Token,
        stream: str,
        key: str,
        *,
        since: str | None = None,
        settings: ConnectionSettings | None = None,
        **options: Any,
    ) -> None:
        self._place = {"stream": stream, "key": key}
        self.position = since
        self._settings = settings or ConnectionSettings()
        self._found = Arrivals[Frame | None]()
        self._seen: OrderedDict[str, None] = OrderedDict()
        self._gap, self._begun = asyncio.Event(), asyncio.Event()
        work: Any = {"opened": self._follow, "received": self._receive, "ended": self._end}
        self.connection = Connection(url, token, self._settings, **work, **options)

    async def __aenter__(self) -> StreamFollower:
        await self.connection.open()
        try:
            await self.connection.wait()
            await self._begun.wait()
        except BaseException:
            await self.connection.close()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.connection.close()

    def __aiter__(self) -> AsyncIterator[Frame | None]:
        return aiter(self._found)

    def _end(self) -> None:
        self._found.end(self.connection.refusal)
        self._begun.set()

    async def _follow(self) -> None:
        """Follow from the position, now, after a gap, and every ``check_interval`` seconds."""
        try:
            while True:
                since = {} if self.position is None else {"since": self.position}
                self._gap.clear()
                answer = await self.connection.request("follow", **self._place, **since)
                self._take(answer["items"])
                if answer["missed"]:
                    self._found.put(None)
                self.position = answer["position"]
                self._begun.set()
                if not answer["hasMore"]:
                    # Jitter: clients that connected together must not ask together.
                    pause = random.uniform(0.6, 1.0) * self._settings.check_interval  # noqa: S311
                    with contextlib.suppress(TimeoutError):
                        async with asyncio.timeout(pause):
                            await self._gap.wait()
        except RateLimited as error:
            await asyncio.sleep(error.pause())
            await self.connection.reconnect()
        except Unavailable:
            await self.connection.reconnect()
        except Refused as error:
            self._found.end(error)
            self._begun.set()

    def _receive(self, frame: Frame) -> None:
        if frame.get("type") != "events" or any(frame.get(name) != value for name, value in self._place.items()):
            return
        self._take(frame["items"])
        if self.position is None:
            return
        if self.position.partition("-")[2] in (frame.get("follows"), *frame.get("through", ())):
            self.position = frame["position"]
        elif "follows" in frame or frame.get("missed"):
            self._gap.set()

    def _take(self, items: Iterable[dict[str, Any]]) -> None:
        for item in sorted(items, key=lambda each: str(each["key"])):
            if item["key"] not in self._seen:
                self._seen[item["key"]] = None
                self._found.put(item)
        while len(self._seen) > REMEMBERED:
            self._seen.popitem(last=False)
