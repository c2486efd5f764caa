"""PUT /rooms/{roomId}; PUT, DELETE /rooms/{roomId}/members/{userId}; GET /rooms/{roomId}/members."""

from headrace.api.router import Route
from headrace.bootstrap.api import http_api
from headrace.bootstrap.rooms import room_services
from headrace.core.caller import CHAT_READ, CHAT_WRITE, EVENTS_WRITE
from headrace.core.errors import Conflict, InvalidCursor, NotFound
from headrace.streams.chat.room_requests import JoinRequest, LeaveRequest, RoomRequest
from headrace.streams.chat.routes import (
    MemberBody,
    MemberPage,
    MemberPath,
    MembersQuery,
    RoomBody,
    RoomPath,
    create_room,
    join_room,
    leave_room,
    list_members,
)

WRITE = (CHAT_WRITE, EVENTS_WRITE)

ROUTES = {
    "PUT /rooms/{roomId}": Route(
        create_room, scopes=WRITE, path=RoomPath, body=RoomRequest, answer=RoomBody, errors=(Conflict,)
    ),
    "PUT /rooms/{roomId}/members/{userId}": Route(
        join_room, scopes=WRITE, path=MemberPath, body=JoinRequest, answer=MemberBody, errors=(NotFound, Conflict)
    ),
    "DELETE /rooms/{roomId}/members/{userId}": Route(
        leave_room, scopes=WRITE, path=MemberPath, body=LeaveRequest, answer=MemberBody, errors=(NotFound, Conflict)
    ),
    "GET /rooms/{roomId}/members": Route(
        list_members,
        scopes=(CHAT_READ,),
        path=RoomPath,
        query=MembersQuery,
        answer=MemberPage,
        errors=(InvalidCursor,),
    ),
}

handler = http_api(ROUTES, room_services)
