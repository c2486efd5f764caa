"""The state of one followed room: which messages were delivered, and whether some may be missing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from .connection import Connection, ConnectionSettings, Refused, Unavailable

PAGE = 200
REMEMBERED = 20_000
"""The number of keys that are remembered, to drop repeated messages."""

Message = dict[str, Any]


class Room:
    """Calls ``deliver`` with each message once, from the key ``after`` on; ``None``: from now on."""

    def __init__(
        self,
        room_id: str,
        after: str | None,
        connection: Connection,
        settings: ConnectionSettings,
        deliver: Callable[[Message], None],
    ) -> None:
        self.room_id = room_id
        self._connection = connection
        self._settings = settings
        self._deliver = deliver
        self._last = after
        """The newest known key; "" for an empty room, ``None`` before the first subscription."""
        self._seen: dict[str, None] = {}
        self._buffered: list[Message] | None = None
        """Messages pushed during a gap. They are delivered after the fetched ones."""
        self._fetching = False
        self._gap_after: str | None = None
        """The newest key before the first open gap; ``None`` without a gap."""
        self._marks = 0
        self.frames = 0
        self.pushed = 0
        self.fetched = 0
        self.repeated = 0

    @property
    def is_followed(self) -> bool:
        """Whether the first subscription succeeded, so that it must be renewed."""
        return self._last is not None

    def mark_gap(self) -> None:
        """Record that messages after the newest known key may be missing."""
        if self._last is not None:
            self._gap_after = self._last if self._gap_after is None else self._gap_after
            self._marks += 1

    async def subscribe(self, *, is_new: bool) -> None:
        """Subscribe and fetch missed messages. ``is_new``: this connection subscribes to the room for the first time.

        Raises:
            Refused, Unavailable: see :meth:`Connection.request`.
        """
        if self._last is None:
            await self._begin()
            return
        newest = str((await self._connection.request("subscribe", roomId=self.room_id))["newest"] or "")
        if not is_new and newest and newest not in self._seen:
            await asyncio.sleep(self._settings.push_delay)  # its push may still arrive
        if is_new or (newest and newest not in self._seen):
            self.mark_gap()
            await self.close_gap()

    async def _begin(self) -> None:
        self._buffered, self._fetching = [], True
        try:
            newest = str((await self._connection.request("subscribe", roomId=self.room_id))["newest"] or "")
            # Earlier messages are not delivered, but must be known when a gap is fetched with an overlap.
            before = await self._fetch(newest) if newest else []
        except BaseException:
            self._buffered, self._fetching = None, False
            raise
        self._last = newest
        self._seen = {str(message["key"]): None for message in before if str(message["key"]) <= newest}
        self._deliver_buffered([message for message in before if str(message["key"]) > newest])

    def receive(self, frame: dict[str, Any]) -> bool:
        """Take a frame of pushed messages; returns ``True`` if the frame reports missed ones."""
        self.frames += 1
        self.pushed += len(frame["items"])
        is_missing = bool(frame.get("missed"))
        if is_missing and self._last is not None:
            self.mark_gap()
            self._buffered = self._buffered or []
        if self._buffered is not None:
            self._buffered.extend(frame["items"])
        elif self._last is not None:
            self._deliver_new(frame["items"])
        return is_missing

    async def close_gap(self) -> None:
        """Fetch missed messages, and again while further gaps are marked meanwhile.

        Raises:
            Refused, Unavailable: see :meth:`Connection.request`; the gap stays marked.
        """
        if self._fetching:
            return  # the running call fetches this gap too
        self._buffered, self._fetching = self._buffered or [], True
        found: list[Message] = []
        try:
            while self._gap_after is not None:
                marks = self._marks
                found += await self._fetch(self._gap_after)
                if self._marks == marks:
                    self._gap_after = None
        finally:
            self.fetched += len(found)
            self._deliver_buffered(found)

    def _deliver_buffered(self, found: list[Message]) -> None:
        buffered, self._buffered, self._fetching = self._buffered or [], None, False
        self._deliver_new(sorted([*found, *buffered], key=lambda message: str(message["key"])))

    def _deliver_new(self, messages: Iterable[Message]) -> None:
        for message in messages:
            key = str(message["key"])
            if key in self._seen:
                self.repeated += 1
                continue
            self._seen[key] = None
            self._last = max(self._last or "", key)
            self._deliver(message)
        while len(self._seen) > REMEMBERED:
            del self._seen[next(iter(self._seen))]

    async def _fetch(self, last: str) -> list[Message]:
        """The history from ``overlap`` before the key ``last``, newest first; the whole history if ``last`` is ""."""
        query: dict[str, Any] = {"roomId": self.room_id, "limit": PAGE}
        if last:
            at = datetime.fromisoformat(last.partition("#")[0]) - timedelta(seconds=self._settings.overlap)
            query["from"] = at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        found: list[Message] = []
        while True:
            try:
                page = await self._connection.request("history", **query)
            except Refused as error:
                if error.code != "invalid_cursor":
                    raise
                raise Unavailable("the cursor is outdated; the next attempt starts from the newest page") from None
            found += page["items"]
            if not page["hasMore"]:
                return found
            query["before"] = page["next"]
