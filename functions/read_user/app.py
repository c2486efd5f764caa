"""GET /users/{userId}/messages: a page of one user's messages."""

from headrace.api.paging.request import PageRequest
from headrace.api.params import UserPath
from headrace.api.router import Route
from headrace.bootstrap.api import http_api
from headrace.bootstrap.chat import user_history
from headrace.core.caller import CHAT_READ
from headrace.core.errors import InvalidCursor, NotFound
from headrace.streams.chat.messages.routes import read_user
from headrace.streams.chat.stream import MessagePage

ROUTES = {
    "GET /users/{userId}/messages": Route(
        read_user,
        scopes=(CHAT_READ,),
        path=UserPath,
        query=PageRequest,
        answer=MessagePage,
        errors=(InvalidCursor, NotFound),
    )
}

handler = http_api(ROUTES, user_history)
