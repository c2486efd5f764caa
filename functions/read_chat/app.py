"""Messages of a room, messages of a user, a user's rooms with unread counts, and read marks."""

from headrace.api.paging.request import PageRequest
from headrace.api.params import UserPath
from headrace.api.router import Route
from headrace.bootstrap.api import http_api
from headrace.bootstrap.chat import reading
from headrace.core.caller import CHAT_READ
from headrace.core.errors import InvalidCursor, NotFound
from headrace.streams.chat.messages.conversations import (
    ConversationPage,
    ConversationsQuery,
    ReadMark,
    ReadMarkBody,
    list_conversations,
    mark_read,
)
from headrace.streams.chat.messages.history import RoomPageRequest, read_room, read_user
from headrace.streams.chat.rooms.requests import RoomPath
from headrace.streams.chat.stream import MessagePage, RoomMessagePage

READ = (CHAT_READ,)
LIST = (InvalidCursor,)
PAGE = (InvalidCursor, NotFound)

ROUTES = {
    "GET /rooms/{roomId}/messages": Route(
        read_room, READ, RoomPath, query=RoomPageRequest, answer=RoomMessagePage, errors=PAGE
    ),
    "GET /users/{userId}/messages": Route(
        read_user, READ, UserPath, query=PageRequest, answer=MessagePage, errors=PAGE
    ),
    "GET /users/{userId}/rooms": Route(
        list_conversations, READ, UserPath, query=ConversationsQuery, answer=ConversationPage, errors=LIST
    ),
    "PUT /rooms/{roomId}/read": Route(mark_read, READ, RoomPath, body=ReadMarkBody, answer=ReadMark),
}

handler = http_api(ROUTES, reading)
