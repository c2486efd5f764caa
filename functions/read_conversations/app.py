"""GET /users/{userId}/rooms, PUT /rooms/{roomId}/read: a user's rooms with unread counts, and read marks."""

from headrace.api.params import UserPath
from headrace.api.router import Route
from headrace.bootstrap.api import http_api
from headrace.bootstrap.chat import conversations
from headrace.core.caller import CHAT_READ
from headrace.core.errors import InvalidCursor
from headrace.streams.chat.messages.routes import (
    ConversationPage,
    ConversationsQuery,
    ReadMark,
    ReadMarkBody,
    list_conversations,
    mark_read,
)
from headrace.streams.chat.rooms.requests import RoomPath

ROUTES = {
    "GET /users/{userId}/rooms": Route(
        list_conversations,
        scopes=(CHAT_READ,),
        path=UserPath,
        query=ConversationsQuery,
        answer=ConversationPage,
        errors=(InvalidCursor,),
    ),
    "PUT /rooms/{roomId}/read": Route(
        mark_read, scopes=(CHAT_READ,), path=RoomPath, body=ReadMarkBody, answer=ReadMark
    ),
}

handler = http_api(ROUTES, conversations)
