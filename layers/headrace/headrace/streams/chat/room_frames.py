"""Frames about one room: listening to it, and reading its history over the connection."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from headrace.api import responses
from headrace.api.paging.request import parse_page_request
from headrace.core.caller import CHAT_READ, Caller
from headrace.core.errors import FieldError, Forbidden, InvalidRequest, echo
from headrace.core.keys import ID_FORM, normalize_id, time_bound
from headrace.core.times import Clock
from headrace.live.connections import Connections
from headrace.live.subscriber_hints import SubscriberHints
from headrace.runtime.observability import Meter
from headrace.storage.ports import RangeQuery, RangeReader
from headrace.streams.chat.access import Access
from headrace.streams.chat.frames import ACTIONS, answer_frame
from headrace.streams.chat.history import History

PAGE_BYTES = responses.FRAME_BYTES - 8 * 1024
"""Of a page's items in a frame; the rest is for the cursors, and what stands around them."""
NOT_OF_A_PAGE = frozenset({"action", "requestId", "roomId"})


@dataclass(frozen=True, slots=True)
class RoomFrame:
    """A frame about a room, from a connection that was opened at ``connected_at`` (epoch seconds)."""

    content: dict[str, Any]
    caller: Caller
    connection_id: str
    connected_at: int

    @property
    def request_id(self) -> str | None:
        """The client's id of the frame."""
        return responses.request_id_of(self.content)

    @property
    def room_id(self) -> str:
        """The room.

        Raises:
            InvalidRequest: it is missing, or no id.
        """
        given = self.content.get("roomId")
        try:
            if not isinstance(given, str):
                raise ValueError("is missing" if given is None else "is not a text")
            return normalize_id(given)
        except ValueError as error:
            detail = FieldError("roomId", str(error), echo(given), ID_FORM)
            raise InvalidRequest(f"roomId {error}", details=[detail]) from None


class RoomFrames:
    """Answers frames about rooms. ``table`` is the messages' table."""

    def __init__(
        self,
        connections: Connections,
        audience: SubscriberHints,
        access: Access,
        history: History,
        reader: RangeReader,
        table: str,
        clock: Clock,
        scope_prefix: str = "",
    ) -> None:
        self._connections = connections
        self._audience = audience
        self._access = access
        self._history = history
        self._reader = reader
        self._table = table
        self._clock = clock
        self._scope_prefix = scope_prefix

    def answer(self, event: Mapping[str, Any], action: RoomAction) -> dict[str, Any]:
        """The answer to a MESSAGE event: ``action``'s, or the error that stopped it. Never raises."""

        def act(frame: dict[str, Any], caller: Caller, _correlation_id: str, _meter: Meter) -> dict[str, Any]:
            caller.require(CHAT_READ, now=self._clock.now())
            context = event["requestContext"]
            connected_at = int(context["connectedAt"]) // 1000
            return action(self, RoomFrame(frame, caller, context["connectionId"], connected_at))

        return answer_frame(event, self._clock, self._scope_prefix, act)

    def subscribe(self, frame: RoomFrame) -> dict[str, Any]:
        """Let the connection hear what is said from now on; the answer tells the newest message that was said before.

        Rights are asked for once more when the row is written: whoever ends a membership meanwhile either finds the
        row, or is seen then.
        """
        room_id = frame.room_id
        since, written = self._heard_since(frame.caller, room_id), False
        while not written:
            self._connections.subscribe(room_id, frame.connection_id, frame.caller, frame.connected_at, since)
            try:
                now = self._heard_since(frame.caller, room_id)
            except Forbidden:
                self._connections.unsubscribe(room_id, [frame.connection_id])
                raise
            since, written = now, now == since
        self._audience.mark_subscribed(room_id)
        return responses.subscribed(frame.request_id, room_id, self._newest(room_id, since))

    def unsubscribe(self, frame: RoomFrame) -> dict[str, Any]:
        """Let the connection hear no more."""
        room_id = frame.room_id
        self._connections.unsubscribe(room_id, [frame.connection_id])
        return responses.unsubscribed(frame.request_id, room_id)

    def history(self, frame: RoomFrame) -> dict[str, Any]:
        """A page of the room, as ``GET /rooms/{roomId}/messages`` gives it, shorter where a frame does not hold it."""
        room_id = frame.room_id
        fields = {name: value for name, value in frame.content.items() if name not in NOT_OF_A_PAGE}
        request = parse_page_request(fields).model_copy(update={"max_bytes": PAGE_BYTES})
        page = self._history.room(frame.caller, room_id, request)
        return responses.history(frame.request_id, room_id, page.text())

    def unknown(self, frame: RoomFrame) -> dict[str, Any]:
        """Refuse an action that there is not."""
        detail = FieldError("action", "is not an action", echo(frame.content.get("action")), ACTIONS)
        raise InvalidRequest("the frame's action is not known", details=[detail])

    def _heard_since(self, caller: Caller, room_id: str) -> str | None:
        """The first time that the caller may hear of now, ``None`` for all.

        Raises:
            Forbidden: the caller is not in the room.
        """
        reach = self._access.reach(caller, room_id)
        if not reach.is_open:
            allowed = "a room that you are a member of"
            detail = FieldError("roomId", "is a room that you have left", echo(room_id), allowed)
            raise Forbidden("you are not in this room any more", details=[detail])
        return reach.intervals[-1].joined_at if reach.intervals else None

    def _newest(self, room_id: str, since: str | None) -> str | None:
        # Not a page of history: that may be 2 s old, and what came in between would be missed without a word.
        lower = time_bound(since) if since is not None else None
        query = RangeQuery(
            self._table, "roomId", room_id, "timestampSk", lower=lower, newest_first=True, limit=1, consistent=True
        )
        rows = self._reader.read(query).items
        return str(rows[0]["timestampSk"]) if rows else None


RoomAction = Callable[[RoomFrames, RoomFrame], dict[str, Any]]
