"""GET /rooms/{roomId}/messages: a page of one room's history."""

from headrace.api.router import Route
from headrace.bootstrap.api import http_api
from headrace.bootstrap.chat import room_history
from headrace.core.caller import CHAT_READ
from headrace.core.errors import InvalidCursor, NotFound
from headrace.streams.chat.messages.requests import RoomPageRequest
from headrace.streams.chat.messages.routes import read_room
from headrace.streams.chat.rooms.requests import RoomPath
from headrace.streams.chat.stream import RoomMessagePage

ROUTES = {
    "GET /rooms/{roomId}/messages": Route(
        read_room,
        scopes=(CHAT_READ,),
        path=RoomPath,
        query=RoomPageRequest,
        answer=RoomMessagePage,
        errors=(InvalidCursor, NotFound),
    )
}

handler = http_api(ROUTES, room_history)
