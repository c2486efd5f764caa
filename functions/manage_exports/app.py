"""Operators and users themselves export a user, owners a room; all see how far it is, and get links to the files."""

from headrace.api.params import UserPath
from headrace.api.router import Route
from headrace.bootstrap.api import http_api
from headrace.core.caller import CHAT_READ, CHAT_WRITE, OPS
from headrace.core.errors import Conflict, NotFound, RetryLaneUnavailable, SecretsUnavailable
from headrace.features.people.exports import routes
from headrace.features.people.exports.routes import ExportUserBody, RoomExport, UserExport
from headrace.streams.chat.rooms.requests import RoomPath

REFUSED = (RetryLaneUnavailable, SecretsUnavailable, Conflict)
FOUND = (NotFound, SecretsUnavailable)
ROUTES = {
    "POST /users/{userId}/export": Route(
        routes.export_user, (OPS,), UserPath, body=ExportUserBody, answer=UserExport, errors=REFUSED, status=202
    ),
    "GET /users/{userId}/export": Route(routes.show_export, (OPS,), UserPath, answer=UserExport, errors=FOUND),
    "POST /export": Route(routes.export_own, (CHAT_WRITE,), answer=UserExport, errors=REFUSED, status=202),
    "GET /export": Route(routes.show_own_export, (CHAT_READ,), answer=UserExport, errors=FOUND),
    "POST /rooms/{roomId}/export": Route(
        routes.export_room, (CHAT_WRITE,), RoomPath, answer=RoomExport, errors=(*REFUSED, NotFound), status=202
    ),
    "GET /rooms/{roomId}/export": Route(
        routes.show_room_export, (CHAT_READ,), RoomPath, answer=RoomExport, errors=(*FOUND, Conflict)
    ),
}

handler = http_api(ROUTES, routes.services)
