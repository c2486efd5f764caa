"""A user's invitations to rooms, and the users whose invitations are refused."""

from headrace.api.params import UserPath
from headrace.api.rates.rate_limiter import CHANGES
from headrace.api.router import Route
from headrace.bootstrap.api import http_api
from headrace.core.caller import CHAT_READ, CHAT_WRITE
from headrace.core.errors import InvalidCursor
from headrace.features.invitations.routes import (
    BlockBody,
    BlockPage,
    InvitationPage,
    list_blocked,
    list_invitations,
    services,
    unblock,
)
from headrace.streams.chat.rooms.requests import ListQuery, OtherPath

READ = (CHAT_READ,)
WRITE = (CHAT_WRITE,)
LIST = (InvalidCursor,)

ROUTES = {
    "GET /users/{userId}/invitations": Route(
        list_invitations, READ, UserPath, query=ListQuery, answer=InvitationPage, errors=LIST
    ),
    "GET /users/{userId}/blocked": Route(list_blocked, READ, UserPath, query=ListQuery, answer=BlockPage, errors=LIST),
    "DELETE /users/{userId}/blocked/{otherId}": Route(unblock, WRITE, OtherPath, answer=BlockBody, limit=CHANGES),
}

handler = http_api(ROUTES, services)
