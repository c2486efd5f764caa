"""The frames about up to 20 rooms at once: check what is new in them, and resume where an earlier connection ended.

Both compare a position with the log of its room (:mod:`headrace.streams.chat.messages.room_log`), and read the table
of messages only where the log does not know the position. The channel of the caller's user is one more room here, under
its ``user_channel``. No table has its changes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headrace.api import responses
from headrace.api.error_bodies import mapping_of, to_body
from headrace.api.paging.pager import Page
from headrace.api.paging.request import LIMIT, PageRequest
from headrace.api.router import Request
from headrace.core import times
from headrace.core.errors import HeadraceError, StoreUnavailable
from headrace.core.json import Encoded, encode, encode_object, encoded_list
from headrace.core.keys import channel_user
from headrace.storage.reading import RangeQuery
from headrace.streams.chat.live.check_frames import CheckFrame, ResumeFrame, RoomCheck, RoomError
from headrace.streams.chat.live.subscriptions import Subscriptions, follow, readable
from headrace.streams.chat.messages.history import History
from headrace.streams.chat.messages.positions import LATE_INDEX, OVERLAP, STORED_AT, Position, first_time, position
from headrace.streams.chat.messages.room_log import Since, read_since
from headrace.streams.chat.room_shards import partitions_of
from headrace.streams.chat.rooms.read_scope import ReadScope

MISSED_BYTES = responses.FRAME_BYTES - 16 * 1024
"""Bytes of items that the answer to `resume` may have. The rest is for the cursors and errors of 20 rooms."""
LEAST_BYTES = 4 * 1024
"""With fewer bytes left, a room of `resume` has to be resumed again."""


def check(services: Subscriptions, request: Request[None, None, CheckFrame]) -> dict[str, Any]:
    """Ask for up to 20 rooms at once whether something is new, and subscribe to those whose subscription has ended.

    With ``users``, also ask for your own user. Each room, and the user, count as a read. For a room that does not
    exist, ``hasNew`` is false; it is followed by the first check after its creation. It also subscribes again to a room
    that you unsubscribed from, or never subscribed to. With ``"subscribe": false``, the subscriptions stay as they are.
    Send it every few minutes: it also keeps an idle connection open.
    """
    asked = _Rooms.open(services, request, missing_too=False, subscribes=request.body.subscribe)

    def check_one(room_id: str) -> RoomCheck:
        since = asked.since[room_id]
        if since.frames is not None:
            return {"hasNew": bool(since.frames), "position": position(request.now, since.tag)}
        if channel_user(room_id) is not None:
            return {"hasNew": True, "position": position(request.now, since.tag)}
        page = asked.stored(services, request, room_id, PageRequest(limit=1))
        return {"hasNew": bool(page.items) or page.has_more, "position": str(page.position)}

    return {"type": "checked", **asked.answer(request, check_one)}


def resume(services: Subscriptions, request: Request[None, None, ResumeFrame]) -> dict[str, Any]:
    """Subscribe to up to 20 rooms at once, and get what was stored in them since a position.

    With ``users``, also to your own user, with what changed since its position. Send it after you connected again, when
    a frame is missing, and every few minutes. Each room, and the user, count as a read.
    """
    asked, left = _Rooms.open(services, request, missing_too=True, subscribes=True), MISSED_BYTES

    def resume_one(room_id: str) -> dict[str, Any]:
        nonlocal left
        since, sent = asked.since[room_id], asked.positions[room_id]
        if channel_user(room_id) is not None:
            found = changes_since(since, left, sent, request.now)
        elif since.frames is not None:
            found = _logged(since, asked.scopes[room_id], left, sent, request.now)
        elif left < LEAST_BYTES:
            found = _resumption([], None, True, position(*sent))
        else:
            page = asked.stored(services, request, room_id, PageRequest(limit=LIMIT, max_bytes=left))
            found = _resumption(page.items, page.next, page.has_more, str(page.position))
        left -= len(found["items"].encode())
        return found

    return {"type": "resumed", **asked.answer(request, resume_one)}


@dataclass(frozen=True, slots=True)
class _Rooms:
    """The rooms of a frame: the position of each; and what the caller may read there, or the error of the room.

    ``since`` has what the log of each room has since its position; without frames, the table may have more.
    """

    positions: Mapping[str, Position]
    scopes: Mapping[str, ReadScope]
    errors: dict[str, RoomError]
    since: Mapping[str, Since]

    @classmethod
    def open(
        cls, services: Subscriptions, request: Request[None, None, Any], *, missing_too: bool, subscribes: bool
    ) -> _Rooms:
        """Look up the rooms. It ``subscribes`` to those that the connection does not follow, if they exist.

        With ``missing_too``, it also subscribes to rooms that do not exist.
        """
        caller, positions = request.caller, request.body.positions
        connection_id = request.event["requestContext"]["connectionId"]
        services.last_checks.checked(connection_id, request.now)
        errors = _beyond_limit(services, request, list(positions))
        asked = [room_id for room_id in positions if room_id not in errors]
        try:
            scopes, refused = readable(services, caller, asked)
            if subscribes:
                followed = services.shares.followed(connection_id)
                new = {each: at for each, at in scopes.items() if each not in followed and (missing_too or at.exists)}
                found, more = follow(services, request, new)
                scopes = {each: scope for each, scope in (scopes | found).items() if each not in more}
                refused |= more
        except StoreUnavailable as error:
            scopes, refused = {}, dict.fromkeys(asked, error)
        errors |= {room_id: {"error": to_body(error)} for room_id, error in refused.items()}
        known = {room_id: positions[room_id] for room_id, scope in scopes.items() if scope.exists or missing_too}
        return cls(positions, scopes, errors, dict.fromkeys(scopes, Since("")) | _since(services, known))

    def stored(
        self, services: Subscriptions, request: Request[None, None, Any], room_id: str, asks: PageRequest
    ) -> Page:
        """A page of what the table has since the position of a room. Raises StoreUnavailable."""
        first, at = first_time(self.positions[room_id].time), position(request.now, self.since[room_id].tag)
        return services.history.stored_since(request.caller, room_id, asks, first, self.scopes[room_id], at)

    def answer(self, request: Request[None, None, Any], work: Callable[[str], Mapping[str, Any]]) -> dict[str, Any]:
        """The fields of the answer: what ``work`` returns for each room and the user, or the error."""
        found: dict[str, Encoded] = {}
        for room_id in self.scopes:
            try:
                found[room_id] = Encoded(encode_object(work(room_id)))
            except HeadraceError as error:
                if mapping_of(error).status == 500:
                    raise
                self.errors[room_id] = {"error": to_body(error)}
        fields: dict[str, Any] = {
            field: Encoded(encode_object({name: found.get(each) or self.errors[each] for name, each in names.items()}))
            for field, names in request.body.followed.items()
        }
        return fields | {"tokenExpiresAt": responses.expiry(request.caller.expires_at)}


def _beyond_limit(
    services: Subscriptions, request: Request[None, None, Any], rooms: Sequence[str]
) -> dict[str, RoomError]:
    """The errors of the rooms for which the caller's limit of reads leaves nothing. The router has counted one."""
    if services.limiter is None:
        return {}
    admitted, refusal = services.limiter.admit(request.caller, len(rooms) - 1, request.meter, "reads")
    return {} if refusal is None else {room_id: {"error": to_body(refusal)} for room_id in rooms[admitted + 1 :]}


def _since(services: Subscriptions, positions: Mapping[str, Position]) -> dict[str, Since]:
    """What the logs have since these positions; without frames where the table may have more."""
    history = services.history
    logs = read_since(history.log, {each: at.tag for each, at in positions.items()}, "checks read the table")
    logged = {
        room_id: positions[room_id].time
        for room_id, since in logs.items()
        if since.frames is not None and channel_user(room_id) is None
    }
    return logs | {room_id: Since(logs[room_id].tag) for room_id in _unlogged(history, logged)}


def _unlogged(history: History, times_of: Mapping[str, int]) -> set[str]:
    """The rooms with messages that are in no log, of rooms with the times of positions in microseconds.

    Some of these messages may have been stored before the position. Raises StoreUnavailable.
    """
    # Messages that are stored late in the ordinary way carry an earlier time than this bound.
    queries = [
        RangeQuery(
            history.table, "roomId", partition, STORED_AT, index=LATE_INDEX, lower=times.iso(since + OVERLAP), limit=1
        )
        for room_id, since in times_of.items()
        for partition in partitions_of(room_id)
    ]
    return {row["roomId"] for rows in history.reader.read_many(queries) for row in rows.items}


def _logged(since: Since, scope: ReadScope, most: int, sent: Position, now: int) -> dict[str, Any]:
    """What was missed, from a log: the oldest frames that have at most ``most`` bytes together."""
    texts: list[str] = []
    at = sent
    for frame in since.frames or ():
        most -= len(frame.items.encode())
        if most < 0:
            return _resumption(texts, None, True, position(*at))
        texts += _readable(frame.items, scope)
        at = Position(frame.time, frame.tag)
    return _resumption(texts, None, False, position(now, since.tag))


def changes_since(since: Since, most: int, sent: Position, now: int) -> dict[str, Any]:
    """What came on the channel of a user or of a key, from its log; ``missed`` if that does not know the position."""
    if since.frames is None:
        return {"items": encoded_list([]), "missed": True, "hasMore": False, "position": position(now, since.tag)}
    found = _logged(since, ReadScope(None), most, sent, now)
    return {"items": found["items"], "missed": False, "hasMore": found["hasMore"], "position": found["position"]}


def _readable(items: str, scope: ReadScope) -> list[str]:
    """The items of a frame that the caller may read, each as JSON, or all of them as one text."""
    if scope.intervals is None:
        return [items[1:-1]] if len(items) > 2 else []
    return [encode(item) for item in json.loads(items) if scope.covers(item["timestamp"])]


def _resumption(items: Iterable[str], following: str | None, has_more: bool, at: str) -> dict[str, Any]:
    return {"items": encoded_list(items), "next": following, "hasMore": has_more, "position": at}
