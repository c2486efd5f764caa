"""GET /rooms/{roomId}/messages: a page of one room's history."""

from headrace.api.router import Route
from headrace.bootstrap.api import http_api
from headrace.bootstrap.chat import room_history
from headrace.core.caller import CHAT_READ
from headrace.core.errors import InvalidCursor
from headrace.streams.chat.room_requests import RoomPageRequest, RoomPath
from headrace.streams.chat.routes import read_room
from headrace.streams.chat.stream import RoomMessagePage

ROUTES = {
    "GET /rooms/{roomId}/messages": Route(
        read_room,
        scopes=(CHAT_READ,),
        path=RoomPath,
        query=RoomPageRequest,
        answer=RoomMessagePage,
        errors=(InvalidCursor,),
    )
}

handler = http_api(ROUTES, room_history)
