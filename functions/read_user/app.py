"""GET /users/{userId}/messages: a page of what one user said."""

from headrace.api.paging.request import PageRequest
from headrace.api.router import Route
from headrace.bootstrap.api import http_api
from headrace.bootstrap.chat import user_history
from headrace.core.caller import CHAT_READ
from headrace.streams.chat.room_requests import UserPath
from headrace.streams.chat.routes import MessagePage, read_user

ROUTES = {
    "GET /users/{userId}/messages": Route(
        read_user, scopes=(CHAT_READ,), path=UserPath, query=PageRequest, answer=MessagePage
    )
}

handler = http_api(ROUTES, user_history)
