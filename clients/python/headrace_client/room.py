"""The state of one followed room: which messages were delivered, and up to which position the room is complete."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from .connection import Connection
from .errors import RateLimited, Refused, Unavailable

PAGE = 200
REMEMBERED_SECONDS = 1800
"""How long before the position a delivered message may come again, in the server's time: one that is stored again by
the retry lane is pushed again up to 20 minutes later."""

Message = dict[str, Any]


class Room:
    """Calls ``deliver`` with each message once, from the position ``since`` on; ``None``: from now on."""

    place, field = "rooms", "roomId"
    """Where frames name it: in ``resume``, and in others."""

    def __init__(
        self, room_id: str, since: str | None, connection: Connection, deliver: Callable[[Message], object]
    ) -> None:
        self.room_id = room_id
        self._connection = connection
        self._deliver = deliver
        self.position = since
        """All messages that were stored before this position are delivered; ``None`` before the first subscription."""
        self._seen: dict[str, tuple[int, str]] = {}
        """When each delivered message came, a time of the server in microseconds, and its version; by its key."""
        self._server_time = 0
        self._links: dict[str, str] = {}
        """The positions of frames that do not follow the position yet, by the tag of the frame that they follow."""
        self._found: list[Message] = []
        self._buffered: list[Message] | None = None
        """Messages that are pushed while missed ones are fetched. They are delivered together, in order."""
        self._resuming = self._is_behind = False
        self.is_waiting = False
        """Whether someone waits for a frame that is late."""

    @property
    def has_hole(self) -> bool:
        """Whether a frame is late or lost."""
        return bool(self._links)

    async def subscribe(self) -> None:
        """Subscribe for the first time. A room with a position is not resumed from it yet.

        Raises:
            Refused, Unavailable: see :meth:`Connection.request`.
        """
        if self.position is not None:
            await self._subscribe()
            return
        self._resuming, self._buffered = True, []
        try:
            # Earlier messages are not delivered, but must be known: later answers may repeat some of them.
            for message in await self._newest():
                self._seen[str(message["key"])] = self._server_time, _version_of(message)
            self._move(await self._subscribe())
        finally:
            self.end()

    async def _subscribe(self) -> str:
        answer = await self._connection.request("subscribe", **{self.field: self.room_id})
        return str(answer["position"])

    async def _newest(self) -> list[Message]:
        """The messages that a page from now on repeats."""
        try:
            page = await self._connection.request("history", roomId=self.room_id, limit=1)
        except Refused as error:
            if error.code != "not_found":
                raise
            return []  # a room that begins with its first message
        self._see(str(page["position"]))
        found, _ = await self._fetch(str(page["position"]))
        return found

    def receive(self, frame: dict[str, Any]) -> bool:
        """Take a frame of pushed messages; returns ``True`` if earlier ones are lost. Then it must be resumed."""
        if "position" in frame:
            self._see(str(frame["position"]))
        if "follows" in frame:
            for tag in (frame["follows"], *frame.get("through", ())):
                self._links[tag] = str(frame["position"])
            if not self._resuming:
                self._advance()
        is_lost = bool(frame.get("missed")) and (self._resuming or self.has_hole or "follows" not in frame)
        if is_lost and self.position is not None:
            self._buffered = self._buffered or []
        if self._buffered is not None:
            self._buffered.extend(frame["items"])
        elif self.position is not None:
            self._deliver_new(frame["items"])
        return is_lost

    def begin(self) -> bool:
        """Begin to resume. Returns ``False`` if the room is being resumed: then it is resumed once more."""
        if self._resuming or self.position is None:
            self._is_behind = True
            return False
        self._resuming, self._is_behind, self._buffered = True, False, self._buffered or []
        self._links.clear()  # the answer has all frames that came before the request
        self.is_waiting = False
        return True

    async def take(self, found: Mapping[str, Any] | None) -> bool:
        """Take the answer for this room; returns whether to resume again. ``None``: the answer does not have the room.

        Raises:
            Refused, Unavailable: see :meth:`Connection.request`; the position stays.
        """
        if found is None:
            items, position = await self._fetch(str(self.position))
        else:
            items, position = list(found["items"]), str(found["position"])
            if found["next"] is not None:
                rest, _ = await self._fetch(str(self.position), before=found["next"])
                items += rest
        self._found += items
        self._move(position)
        again = self._is_behind or (found is not None and bool(found["hasMore"]) and found["next"] is None)
        self._is_behind = False
        return again

    def end(self) -> None:
        """End resuming, and deliver what was fetched and pushed."""
        found, buffered = self._found, self._buffered or []
        self._found, self._buffered, self._resuming = [], None, False
        if self.position is not None:
            self._deliver_new(sorted([*found, *buffered], key=lambda message: str(message["key"])))
            self._advance()

    def _move(self, position: str) -> None:
        self.position = position
        self._see(position)

    def _see(self, position: str) -> None:
        self._server_time = max(self._server_time, _time_of(position))

    def _advance(self) -> None:
        """Move the position over all frames that follow it, and forget those that lead to it."""
        while True:
            passed = {tag := _tag_of(str(self.position))}
            while tag and (before := [each for each, at in self._links.items() if _tag_of(at) in passed]):
                passed.update(before)
                for each in before:
                    del self._links[each]
            if not tag or tag not in self._links:
                return
            self._move(self._links.pop(tag))

    def _deliver_new(self, messages: Iterable[Message]) -> None:
        for message in messages:
            key, version = str(message["key"]), _version_of(message)
            if key not in self._seen or self._seen[key][1] < version:
                self._seen.pop(key, None)  # the oldest stays the first
                self._seen[key] = self._server_time, version
                self._deliver(message)
        oldest = _time_of(str(self.position)) - REMEMBERED_SECONDS * 1_000_000
        while self._seen and self._seen[first := next(iter(self._seen))][0] < oldest:
            del self._seen[first]

    async def _fetch(self, since: str, before: str | None = None) -> tuple[list[Message], str]:
        """The messages that were stored since a position, and the position of their first page."""
        query: dict[str, Any] = {"roomId": self.room_id, "limit": PAGE, "since": since}
        if before is not None:
            query["before"] = before
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


def _time_of(position: str) -> int:
    """The server's time of a position in microseconds."""
    return int(position[1:17])


def _tag_of(position: str) -> str:
    """The tag of the newest frame at a position; "" if it is unknown."""
    return position.partition("-")[2]


def _version_of(message: Message) -> str:
    """Orders what a message shows: its first text, its edits, its deletion; and each with the reactions to it."""
    if "deletedAt" in message:
        return f"2{message['deletedAt']}"
    text = f"1{message['editedAt']}" if "editedAt" in message else "0"
    return text + str(message.get("reactionsAt", ""))
