"""Rooms and their members: create, read, change, join, leave, list members, open direct rooms."""

from headrace.api.router import Route
from headrace.bootstrap.api import http_api
from headrace.bootstrap.chat import room_service
from headrace.core.caller import CHAT_READ, CHAT_WRITE, EVENTS_WRITE
from headrace.core.errors import Conflict, InvalidCursor, NotFound
from headrace.streams.chat import room_details, room_requests
from headrace.streams.chat.room_requests import ListQuery, MemberBody, MemberPath, RoomBody, RoomDetails, RoomPath
from headrace.streams.chat.room_service import RoomService

WRITE = (CHAT_WRITE, EVENTS_WRITE)
READ = (CHAT_READ,)
REFUSALS, LIST = (NotFound, Conflict), (InvalidCursor, NotFound)

ROUTES = {
    "PUT /rooms/{roomId}": Route(
        RoomService.create, WRITE, RoomPath, body=room_requests.RoomRequest, answer=RoomBody, errors=(Conflict,)
    ),
    "GET /rooms/{roomId}": Route(room_details.show_room, READ, RoomPath, answer=RoomDetails, errors=(NotFound,)),
    "PATCH /rooms/{roomId}": Route(
        room_details.change_room, WRITE, RoomPath, body=room_requests.RoomChange, answer=RoomBody, errors=(NotFound,)
    ),
    "PUT /users/{userId}/direct/{otherId}": Route(
        room_details.open_direct_room, WRITE, room_requests.OtherPath, answer=RoomDetails, errors=(Conflict,)
    ),
    "PUT /rooms/{roomId}/members/{userId}": Route(
        RoomService.join, WRITE, MemberPath, body=room_requests.JoinRequest, answer=MemberBody, errors=REFUSALS
    ),
    "DELETE /rooms/{roomId}/members/{userId}": Route(
        RoomService.leave, WRITE, MemberPath, body=room_requests.LeaveRequest, answer=MemberBody, errors=REFUSALS
    ),
    "GET /rooms/{roomId}/members": Route(
        room_details.list_members,
        READ,
        RoomPath,
        query=ListQuery,
        answer=room_requests.MemberPage,
        errors=LIST,
    ),
}

handler = http_api(ROUTES, room_service)
