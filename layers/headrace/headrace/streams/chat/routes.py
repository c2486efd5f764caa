"""The HTTP routes of rooms, members, history and conversations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BeforeValidator, Field
from typing_extensions import TypedDict

from headrace.api.paging.request import ListRequest, PageRequest
from headrace.api.params import AnyBody, Params, whole_number
from headrace.api.router import Request
from headrace.core.fields import Id
from headrace.core.keys import ID_FORM
from headrace.streams.chat.conversations import Conversations
from headrace.streams.chat.history import History
from headrace.streams.chat.join_messages import shown_name
from headrace.streams.chat.memberships import Membership
from headrace.streams.chat.room_requests import JoinRequest, LeaveRequest, RoomRequest, check
from headrace.streams.chat.room_service import RoomMembers, RoomService


class RoomPath(Params):
    """A room."""

    refusal = "{field} is not a usable id"

    room_id: Id = Field(description=ID_FORM)


class UserPath(Params):
    """A user."""

    refusal = "{field} is not a usable id"

    user_id: Id = Field(description=ID_FORM)


class MemberPath(RoomPath, UserPath):
    """A user in a room."""


def _limit(default: int, most: int) -> Any:
    return Field(default=default, description=f"a whole number from 1 to {most}")


class MembersQuery(ListRequest):
    """A page of the members of a room."""

    limit: Annotated[int, BeforeValidator(whole_number(1, 100))] = _limit(50, 100)
    place: str | None = Field(default=None, alias="after", description="a cursor from an earlier page")


class ConversationsQuery(ListRequest):
    """A page of a user's rooms."""

    limit: Annotated[int, BeforeValidator(whole_number(1, 50))] = _limit(20, 50)
    place: str | None = Field(default=None, alias="before", description="a cursor from an earlier page")


class MessageItem(TypedDict):
    """A stored message; ``key`` is its place in the room."""

    key: str
    roomId: str
    messageId: str
    timestamp: str
    userId: str
    username: str
    message: str
    messageType: str


class MessagePage(TypedDict):
    """``next`` leads to older messages, ``previous`` to newer ones."""

    items: list[MessageItem]
    next: str | None
    previous: str | None
    hasMore: bool


class RoomBody(TypedDict):
    """A room."""

    roomId: str
    kind: str
    form: str
    createdAt: str
    createdBy: str


class MemberBody(TypedDict):
    """A membership; ``leftAt`` is null while the user is in the room."""

    roomId: str
    userId: str
    username: str
    role: str
    joinedAt: str | None
    leftAt: str | None


class ListPage(TypedDict):
    """A page of a list that is read in one direction."""

    items: list[dict[str, Any]]
    next: str | None
    hasMore: bool


class ConversationPage(ListPage):
    """``complete`` is false where the user is in more rooms than are looked at."""

    complete: bool


class ReadMark(TypedDict):
    """Up to where a user has read a room."""

    roomId: str
    readTo: str


@dataclass(frozen=True, slots=True)
class RoomServices:
    """The services of manage_rooms."""

    rooms: RoomService
    members: RoomMembers


def read_room(history: History, request: Request[RoomPath, PageRequest, None]) -> str:
    """A page of one room's messages."""
    return history.room(request.caller, request.path.room_id, request.query).text()


def read_user(history: History, request: Request[UserPath, PageRequest, None]) -> str:
    """A page of one user's messages."""
    return history.user(request.caller, request.path.user_id, request.query).text()


def create_room(services: RoomServices, request: Request[RoomPath, None, RoomRequest]) -> dict[str, Any]:
    """Create the room in the path."""
    check(request)
    room = services.rooms.create(
        request.caller, request.path.room_id, request.body, request.correlation_id, request.meter
    )
    return room.to_body()


def join_room(services: RoomServices, request: Request[MemberPath, None, JoinRequest]) -> MemberBody:
    """Add the user in the path to the room."""
    check(request)
    path = request.path
    membership = services.rooms.join(
        request.caller, path.room_id, path.user_id, request.body, request.correlation_id, request.meter
    )
    return _member(services.rooms, membership)


def leave_room(services: RoomServices, request: Request[MemberPath, None, LeaveRequest]) -> MemberBody:
    """Remove the user in the path from the room."""
    check(request)
    path = request.path
    membership = services.rooms.leave(
        request.caller, path.room_id, path.user_id, request.body, request.correlation_id, request.meter
    )
    return _member(services.rooms, membership)


def list_members(services: RoomServices, request: Request[RoomPath, MembersQuery, None]) -> dict[str, Any]:
    """A page of the room's members."""
    return services.members.page(request.caller, request.path.room_id, request.query)


def list_conversations(
    conversations: Conversations, request: Request[UserPath, ConversationsQuery, None]
) -> dict[str, Any]:
    """A page of the user's rooms."""
    return conversations.page(request.caller, request.path.user_id, request.query)


def mark_read(conversations: Conversations, request: Request[RoomPath, None, AnyBody]) -> dict[str, Any]:
    """Move the caller's read mark in the room."""
    return conversations.mark_read(request.caller, request.path.room_id, request.content.get("upTo"))


def _member(rooms: RoomService, membership: Membership) -> MemberBody:
    last = membership.intervals[-1] if membership.intervals else None
    return {
        "roomId": membership.room_id,
        "userId": membership.user_id,
        "username": shown_name(membership),
        "role": rooms.role_of(membership.room_id, membership),
        "joinedAt": last.joined_at if last else None,
        "leftAt": last.left_at if last else None,
    }
