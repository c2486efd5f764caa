"""Rooms: create, change, join, leave, list members, direct rooms."""

from headrace.api.rates.rate_limiter import CHANGES, MEMBERS, OTHERS, ROOMS
from headrace.api.router import Route
from headrace.bootstrap.api import http_api
from headrace.bootstrap.chat import room_services
from headrace.core.caller import CHAT_READ, CHAT_WRITE, EVENTS_WRITE
from headrace.core.errors import Conflict, InvalidCursor, NotFound
from headrace.stage.chosen import routes_of
from headrace.streams.chat.rooms import members, routes
from headrace.streams.chat.rooms import requests as ask
from headrace.streams.chat.rooms.requests import MemberBody, MemberPath, OtherPath, RoomBody, RoomPath

WRITE = (CHAT_WRITE, EVENTS_WRITE)
READ = (CHAT_READ,)
LIST = (InvalidCursor, NotFound)
BOTH = (NotFound, Conflict)

ROUTES = {
    "PUT /rooms/{roomId}": Route(
        routes.create_room, WRITE, RoomPath, body=ask.RoomRequest, answer=RoomBody, errors=(Conflict,), limit=ROOMS
    ),
    "GET /rooms/{roomId}": Route(routes.show_room, READ, RoomPath, answer=ask.RoomDetails, errors=(NotFound,)),
    "PATCH /rooms/{roomId}": Route(
        routes.change_room, WRITE, RoomPath, None, ask.RoomChange, RoomBody, (NotFound,), limit=CHANGES
    ),
    "PUT /users/{userId}/direct/{otherId}": Route(
        routes.open_direct_room, WRITE, OtherPath, answer=ask.RoomDetails, errors=(Conflict,), limit=OTHERS
    ),
    "PUT /rooms/{roomId}/members/{userId}": Route(
        members.join, WRITE, MemberPath, body=ask.JoinRequest, answer=MemberBody, errors=BOTH, limit=MEMBERS
    ),
    "DELETE /rooms/{roomId}/members/{userId}": Route(
        members.leave, WRITE, MemberPath, body=ask.LeaveRequest, answer=MemberBody, errors=BOTH, limit=MEMBERS
    ),
    "GET /rooms/{roomId}/members": Route(
        members.list_members, READ, RoomPath, query=ask.ListQuery, answer=ask.MemberPage, errors=LIST
    ),
}
ROUTES |= routes_of("manage_rooms")

handler = http_api(ROUTES, room_services)
