"""Read marks: up to where a user has read a room."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field
from pydantic_core import PydanticCustomError
from typing_extensions import TypedDict

from headrace.api.params import Params
from headrace.api.router import Request, Route
from headrace.core import times
from headrace.core.caller import CHAT_READ
from headrace.core.errors import FieldError, InvalidRequest
from headrace.core.fields import accepts
from headrace.core.keys import MESSAGE_KEY_FORM, after_time, parse_read_mark, shown_read_mark, time_of
from headrace.core.times import AHEAD_LIMIT
from headrace.streams.chat.messages.positions import POSITION_FORM, parse_position
from headrace.streams.chat.rooms.access import not_in_room
from headrace.streams.chat.rooms.requests import RoomPath
from headrace.streams.chat.rooms.routes import RoomServices
from headrace.streams.chat.stream import ReadTo

MARK_FORM = f"{MESSAGE_KEY_FORM}; {POSITION_FORM}; or a time: {times.ACCEPTED_FORM}"


def _mark(value: object) -> str:
    try:
        if isinstance(value, str) and value.startswith("p"):
            return after_time(times.iso(parse_position(value).time))
        return parse_read_mark(value)
    except ValueError:
        raise PydanticCustomError("mark", "is neither a message key, a time nor a position") from None


class ReadMarkBody(Params):
    """A read mark: the messages up to and including ``upTo`` are read."""

    unknown = "is not a field of this route"

    up_to: Annotated[str, BeforeValidator(_mark), accepts(type=["string", "integer"])] = Field(description=MARK_FORM)


class ReadMark(TypedDict):
    """How far the user has read the room."""

    roomId: str
    readTo: ReadTo


def mark_read(services: RoomServices, request: Request[RoomPath, None, ReadMarkBody]) -> dict[str, Any]:
    """Move the caller's read mark in a room forward."""
    user_id, room_id, now = request.caller.subject, request.path.room_id, request.now
    # A mark ahead of the clock would cover messages that are sent later. So a message that is dated ahead stays unread
    # until its time has come.
    mark = request.body.up_to
    if time_of(mark) > times.iso(now + AHEAD_LIMIT):
        allowed = f"at most 5 minutes ahead; the server's time is {times.iso(now)}"
        raise InvalidRequest(details=[FieldError("upTo", "is too far ahead", shown_read_mark(mark), allowed)])
    position = min(mark, after_time(times.iso(now)))
    membership = services.memberships.get(user_id, room_id)
    if not membership.intervals:
        raise not_in_room(room_id)
    if membership.read_to is None or membership.read_to < position:
        if services.memberships.mark_read(user_id, room_id, position):
            services.channels.publish([user_id], "readMark", room_id, read_to=shown_read_mark(position))
        else:
            position = services.memberships.get(user_id, room_id).read_to or position
    else:
        position = membership.read_to
    return {"roomId": room_id, "readTo": shown_read_mark(position)}


ROUTES = {
    "manage_rooms": {
        "PUT /rooms/{roomId}/read": Route(mark_read, (CHAT_READ,), RoomPath, body=ReadMarkBody, answer=ReadMark)
    }
}
