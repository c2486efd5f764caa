"""One room as a follower knows it: what it has had, and what it may have missed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from .connection import Connection, Lost, Patience, Refused

PAGE = 200
REMEMBERED = 20_000
"""Keys that are remembered to leave out what comes twice."""

Message = dict[str, Any]


class Room:
    """Gives each message to ``give`` once. The room is followed from the key ``after``; ``None``: from now on."""

    def __init__(
        self,
        room_id: str,
        after: str | None,
        connection: Connection,
        patience: Patience,
        give: Callable[[Message], None],
    ) -> None:
        self.room_id = room_id
        self._connection = connection
        self._patience = patience
        self._give = give
        self._last = after
        """The newest key there was, "" for an empty room, ``None`` before the first subscription."""
        self._seen: dict[str, None] = {}
        self._held: list[Message] | None = None
        """Pushed while there is a gap: they come after it."""
        self._closing = False
        self._behind: str | None = None
        """The newest key from before the gaps that are not closed yet."""
        self._suspicions = 0
        self.frames = 0
        self.pushed = 0
        self.fetched = 0
        self.repeated = 0

    @property
    def is_followed(self) -> bool:
        """Whether there was a subscription, so that there is one to renew."""
        return self._last is not None

    def suspect(self) -> None:
        """Something may have been missed after what was seen last."""
        if self._last is not None:
            self._behind = self._last if self._behind is None else self._behind
            self._suspicions += 1

    async def subscribe(self, *, is_new: bool) -> None:
        """Subscribe, and fetch what was missed; ``is_new``: this connection was not in the room until now.

        Raises:
            Refused, Lost: see :meth:`Connection.request`.
        """
        if self._last is None:
            await self._begin()
            return
        newest = str((await self._connection.request("subscribe", roomId=self.room_id))["newest"] or "")
        if not is_new and newest and newest not in self._seen:
            await asyncio.sleep(self._patience.settle)  # in a busy room it is on its way
        if is_new or (newest and newest not in self._seen):
            self.suspect()
            await self.close_gap()

    async def _begin(self) -> None:
        self._held, self._closing = [], True
        try:
            newest = str((await self._connection.request("subscribe", roomId=self.room_id))["newest"] or "")
            # Earlier messages are not delivered, but must be known when a gap is fetched with an overlap.
            before = await self._fetch(newest) if newest else []
        except BaseException:
            self._held, self._closing = None, False
            raise
        self._last = newest
        self._seen = {str(message["key"]): None for message in before if str(message["key"]) <= newest}
        self._release([message for message in before if str(message["key"]) > newest])

    def receive(self, frame: dict[str, Any]) -> bool:
        """Take pushed messages; ``True`` if some before them were missed."""
        self.frames += 1
        self.pushed += len(frame["items"])
        is_missing = bool(frame.get("missed"))
        if is_missing and self._last is not None:
            self.suspect()
            self._held = self._held or []
        if self._held is not None:
            self._held.extend(frame["items"])
        elif self._last is not None:
            self._take(frame["items"])
        return is_missing

    async def close_gap(self) -> None:
        """Fetch what was missed, until nothing is suspected any more.

        Raises:
            Refused, Lost: see :meth:`Connection.request`; the gap is still known then.
        """
        if self._closing:
            return  # the call under way looks again
        self._held, self._closing = self._held or [], True
        found: list[Message] = []
        try:
            while self._behind is not None:
                suspicions = self._suspicions
                found += await self._fetch(self._behind)
                if self._suspicions == suspicions:
                    self._behind = None
        finally:
            self.fetched += len(found)
            self._release(found)

    def _release(self, found: list[Message]) -> None:
        held, self._held, self._closing = self._held or [], None, False
        self._take(sorted([*found, *held], key=lambda message: str(message["key"])))

    def _take(self, messages: Iterable[Message]) -> None:
        for message in messages:
            key = str(message["key"])
            if key in self._seen:
                self.repeated += 1
                continue
            self._seen[key] = None
            self._last = max(self._last or "", key)
            self._give(message)
        while len(self._seen) > REMEMBERED:
            del self._seen[next(iter(self._seen))]

    async def _fetch(self, last: str) -> list[Message]:
        """What history holds from a while before the key ``last``, all of it if that is "". Newest first."""
        query: dict[str, Any] = {"roomId": self.room_id, "limit": PAGE}
        if last:
            at = datetime.fromisoformat(last.partition("#")[0]) - timedelta(seconds=self._patience.overlap)
            query["from"] = at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        found: list[Message] = []
        while True:
            try:
                page = await self._connection.request("history", **query)
            except Refused as error:
                if error.code == "not_found":
                    return found  # a room that begins with its first message
                if error.code != "invalid_cursor":
                    raise
                raise Lost("the cursor is outdated; the next try starts from the newest page") from None
            found += page["items"]
            if not page["hasMore"]:
                return found
            query["before"] = page["next"]
