"""Subscriptions of connections to rooms."""

from __future__ import annotations

from headrace.api.paging.request import PageRequest
from headrace.core.caller import Caller
from headrace.core.errors import FieldError, Forbidden, NotFound, echo
from headrace.live.connections import Connections
from headrace.live.shares import check_subscribe, is_subscribed
from headrace.live.subscriber_hints import SubscriberHints
from headrace.streams.chat.live.frames import FrameRequest, RoomCheck, connection_of
from headrace.streams.chat.messages.history import History
from headrace.streams.chat.messages.positions import position
from headrace.streams.chat.rooms.access import RoomAccess


class Subscriptions:
    """Subscribes connections to rooms that their users may read."""

    def __init__(self, connections: Connections, hints: SubscriberHints, access: RoomAccess, history: History) -> None:
        self._connections = connections
        self._hints = hints
        self._access = access
        self.history = history

    def subscribe(self, caller: Caller, room_id: str, connection_id: str, connected_at: int) -> None:
        """Subscribe a connection that was opened at ``connected_at`` (epoch seconds).

        Access is checked again after the row is written. If the membership ends in between, either its removal deletes
        the row, or the second check sees it.

        Raises:
            Forbidden: the caller is not in the room. RateLimited: the caller follows it over too many connections.
            StoreUnavailable.
        """
        since, written = self._readable_since(caller, room_id), False
        check_subscribe(self._connections, caller, room_id, connection_id)
        while not written:
            self._connections.subscribe(room_id, connection_id, caller, connected_at, since)
            try:
                now = self._readable_since(caller, room_id)
            except Forbidden:
                self._connections.unsubscribe(room_id, [connection_id])
                raise
            since, written = now, now == since
        self._hints.mark_subscribed(room_id)

    def check(self, request: FrameRequest, room_id: str, since: int) -> RoomCheck:
        """Subscribe the connection if it is not subscribed, and find out whether a room has messages since a position.

        Raises:
            Forbidden, RateLimited, StoreUnavailable: see :meth:`subscribe`.
        """
        connection_id, connected_at = connection_of(request)
        if not is_subscribed(self._connections, request.caller, room_id, connection_id):
            self.subscribe(request.caller, room_id, connection_id, connected_at)
        try:
            page = self.history.room(request.caller, room_id, PageRequest(limit=1), since)
        except NotFound:  # a room may be followed before it exists
            return {"hasNew": False, "position": position(request.now)}
        return {"hasNew": bool(page.items) or page.has_more, "position": str(page.position)}

    def unsubscribe(self, room_id: str, connection_id: str) -> None:
        """End the subscription of a connection, if there is one."""
        self._connections.unsubscribe(room_id, [connection_id])

    def _readable_since(self, caller: Caller, room_id: str) -> str | None:
        """The time from which the caller may read new messages; ``None`` without a lower bound."""
        scope = self._access.read_scope(caller, room_id)
        if not scope.is_open:
            allowed = "a room that you are a member of"
            detail = FieldError("roomId", "is a room that you have left", echo(room_id), allowed)
            raise Forbidden("you are not in this room any more", details=[detail])
        return scope.intervals[-1].joined_at if scope.intervals else None
