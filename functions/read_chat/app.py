"""Messages of a room, and what features have of one; a user's messages."""

from headrace.api.paging.request import PageRequest
from headrace.api.params import UserPath
from headrace.api.router import Route
from headrace.bootstrap.api import http_api
from headrace.core.caller import CHAT_READ
from headrace.core.errors import InvalidCursor, NotFound
from headrace.services.reading import reading
from headrace.stage.chosen import routes_of
from headrace.streams.chat.messages.history import RoomPageRequest, read_room, read_user
from headrace.streams.chat.rooms.requests import RoomPath
from headrace.streams.chat.stream import MessagePage, RoomMessagePage

READ = (CHAT_READ,)
PAGE = (InvalidCursor, NotFound)

ROUTES = {
    "GET /rooms/{roomId}/messages": Route(
        read_room, READ, RoomPath, query=RoomPageRequest, answer=RoomMessagePage, errors=PAGE
    ),
    "GET /users/{userId}/messages": Route(
        read_user, READ, UserPath, query=PageRequest, answer=MessagePage, errors=PAGE
    ),
}
ROUTES |= routes_of("read_chat")

handler = http_api(ROUTES, reading)
