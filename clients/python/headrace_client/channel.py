"""The state of a user's channel: which changes were delivered, and up to which position it is complete."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .connection import Connection
from .errors import Unavailable
from .room import Message, Room


class Channel(Room):
    """Calls ``changed`` with each change once, and with ``None`` where some may be missing: also at first without
    ``since``.
    """

    place, field = "users", "userId"

    def __init__(
        self,
        user_id: str,
        since: str | None,
        connection: Connection,
        changed: Callable[[dict[str, Any] | None], object],
    ) -> None:
        super().__init__(user_id, since, connection, changed)
        self._changed = changed

    async def _newest(self) -> list[Message]:
        return []

    async def _subscribe(self) -> str:
        position = await super()._subscribe()
        if self.position is None:
            self._changed(None)
        return position

    async def take(self, found: Mapping[str, Any] | None) -> bool:
        if found is None:
            raise Unavailable("the answer does not have the user")
        if found["missed"]:
            self._changed(None)
        return await super().take({**found, "next": None})
