"""The state of one followed room: which messages were delivered, and up to which position the room is complete."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from .connection import Connection, RateLimited, Refused, Unavailable

PAGE = 200
REMEMBERED = 20_000
"""The number of keys that are remembered, to drop repeated messages."""

Message = dict[str, Any]


class Room:
    """Calls ``deliver`` with each message once, from the position ``since`` on; ``None``: from now on."""

    def __init__(
        self, room_id: str, since: str | None, connection: Connection, deliver: Callable[[Message], None]
    ) -> None:
        self.room_id = room_id
        self._connection = connection
        self._deliver = deliver
        self.position = since
        """All messages that were stored before this position are delivered; ``None`` before the first subscription."""
        self._seen: dict[str, None] = {}
        self._buffered: list[Message] | None = None
        """Messages that are pushed during a fetch. They are delivered after the fetched ones."""
        self._fetching = self._is_behind = False
        self.frames = 0
        self.pushed = 0
        self.fetched = 0
        self.repeated = 0

    @property
    def is_followed(self) -> bool:
        """Whether the first subscription succeeded, so that it must be renewed."""
        return self.position is not None

    async def subscribe(self) -> None:
        """Subscribe, and fetch what was stored since the last fetch.

        Raises:
            Refused, Unavailable: see :meth:`Connection.request`.
        """
        self._buffered = self._buffered or []
        try:
            answer = await self._connection.request("subscribe", roomId=self.room_id)
            if self.position is None:
                # Earlier messages are not delivered, but must be known: later fetches repeat some of them.
                before, position = await self._fetch(str(answer["position"]))
                pushed = {str(message["key"]) for message in self._buffered}
                self._seen = {key: None for message in before if (key := str(message["key"])) not in pushed}
                self.position = position
        except BaseException:
            if not self._fetching:
                self._buffered = None  # the next fetch has these messages
            raise
        await self.close_gap()

    async def take_check(self, found: Mapping[str, Any]) -> None:
        """Take what a check of the room has found: fetch what is new, or keep the new position.

        Raises:
            Refused, Unavailable: see :meth:`Connection.request`.
        """
        if found["hasNew"]:
            await self.close_gap()
        elif not self._fetching:
            self.position = str(found["position"])

    def receive(self, frame: dict[str, Any]) -> bool:
        """Take a frame of pushed messages; returns ``True`` if the frame reports missed ones."""
        self.frames += 1
        self.pushed += len(frame["items"])
        is_missing = bool(frame.get("missed"))
        if is_missing and self.position is not None:
            self._buffered = self._buffered or []
        if self._buffered is not None:
            self._buffered.extend(frame["items"])
        elif self.position is not None:
            self._deliver_new(frame["items"])
        return is_missing

    async def close_gap(self) -> None:
        """Fetch what was stored since the position, and again if a gap is reported meanwhile.

        Raises:
            Refused, Unavailable: see :meth:`Connection.request`; the position stays.
        """
        if self._fetching or self.position is None:
            self._is_behind = True
            return
        self._buffered, self._fetching, self._is_behind = self._buffered or [], True, True
        found: list[Message] = []
        try:
            while self._is_behind:
                self._is_behind = False
                more, self.position = await self._fetch(self.position)
                found += more
        finally:
            self.fetched += len(found)
            buffered, self._buffered, self._fetching = self._buffered or [], None, False
            self._deliver_new(sorted([*found, *buffered], key=lambda message: str(message["key"])))

    def _deliver_new(self, messages: Iterable[Message]) -> None:
        for message in messages:
            key = str(message["key"])
            if key in self._seen:
                self.repeated += 1
                continue
            self._seen[key] = None
            self._deliver(message)
        while len(self._seen) > REMEMBERED:
            del self._seen[next(iter(self._seen))]

    async def _fetch(self, since: str) -> tuple[list[Message], str]:
        """The messages that were stored since a position, and the position of their first page."""
        query: dict[str, Any] = {"roomId": self.room_id, "limit": PAGE, "since": since}
        found: list[Message] = []
        while True:
            try:
                page = await self._connection.request("history", **query)
            except RateLimited as error:
                await asyncio.sleep(error.pause())
                continue
            except Refused as error:
                if error.code == "not_found":
                    return found, since  # a room that begins with its first message
                if error.code != "invalid_cursor":
                    raise
                raise Unavailable("the cursor is outdated; the next attempt starts from the first page") from None
            found += page["items"]
            if not page["hasMore"]:
                return found, str(page["position"])
            query["before"] = page["next"]
