"""PUT /rooms/{roomId}; PUT, DELETE /rooms/{roomId}/members/{userId}; GET /rooms/{roomId}/members."""

from headrace.api.router import Route
from headrace.bootstrap.api import http_api
from headrace.bootstrap.chat import room_service
from headrace.core.caller import CHAT_READ, CHAT_WRITE, EVENTS_WRITE
from headrace.core.errors import Conflict, InvalidCursor, NotFound
from headrace.streams.chat.room_requests import (
    JoinRequest,
    LeaveRequest,
    MemberBody,
    MemberPage,
    MemberPath,
    MembersQuery,
    RoomBody,
    RoomPath,
    RoomRequest,
)
from headrace.streams.chat.room_service import RoomService

WRITE = (CHAT_WRITE, EVENTS_WRITE)
REFUSALS = (NotFound, Conflict)

ROUTES = {
    "PUT /rooms/{roomId}": Route(
        RoomService.create, scopes=WRITE, path=RoomPath, body=RoomRequest, answer=RoomBody, errors=(Conflict,)
    ),
    "PUT /rooms/{roomId}/members/{userId}": Route(
        RoomService.join, scopes=WRITE, path=MemberPath, body=JoinRequest, answer=MemberBody, errors=REFUSALS
    ),
    "DELETE /rooms/{roomId}/members/{userId}": Route(
        RoomService.leave, scopes=WRITE, path=MemberPath, body=LeaveRequest, answer=MemberBody, errors=REFUSALS
    ),
    "GET /rooms/{roomId}/members": Route(
        RoomService.members,
        scopes=(CHAT_READ,),
        path=RoomPath,
        query=MembersQuery,
        answer=MemberPage,
        errors=(InvalidCursor,),
    ),
}

handler = http_api(ROUTES, room_service)
