"""The HTTP routes of rooms, members, history and conversations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field
from typing_extensions import TypedDict

from headrace.api.paging.request import ListRequest, PageRequest
from headrace.api.params import AnyBody, Params, whole_number
from headrace.api.router import Request
from headrace.core.fields import Id
from headrace.core.keys import ID_FORM
from headrace.streams.chat.conversations import MARK_FORM, Conversations
from headrace.streams.chat.history import History
from headrace.streams.chat.join_messages import shown_name
from headrace.streams.chat.memberships import Membership, Role
from headrace.streams.chat.room_requests import JoinRequest, LeaveRequest, RoomRequest, check
from headrace.streams.chat.room_service import RoomMembers, RoomService
from headrace.streams.chat.rooms import Form, RoomKind
from headrace.streams.chat.stream import MessageItem


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


class RoomBody(TypedDict):
    """A room."""

    roomId: str
    kind: RoomKind
    form: Form
    createdAt: str
    createdBy: str


class MemberBody(TypedDict):
    """A membership; ``leftAt`` is null while the user is in the room."""

    roomId: str
    userId: str
    username: str
    role: Role
    joinedAt: str | None
    leftAt: str | None


class MemberItem(TypedDict):
    """A user who is in the room now."""

    userId: str
    username: str
    role: Role
    joinedAt: str


class MemberPage(TypedDict):
    """A page of members, in the order of their user ids; ``next`` goes into ``after``."""

    items: list[MemberItem]
    next: str | None
    hasMore: bool


class MembershipState(TypedDict):
    """``in`` since the user joined, or ``left`` since the user left."""

    state: Literal["in", "left"]
    since: str


class Conversation(TypedDict):
    """A room that the user is or was in.

    ``activityAt`` is exact to the second. ``lastMessage`` is the newest message that the user may read. ``unread``
    counts the texts of others in the user's membership intervals after ``readTo``, or since the user first joined; it
    is exact up to 100, and with ``unreadCapped`` there may be more.
    """

    roomId: str
    kind: RoomKind
    form: Form
    membership: MembershipState
    activityAt: str
    lastMessage: MessageItem | None
    unread: int
    unreadCapped: bool
    readTo: str | None


class ConversationPage(TypedDict):
    """A page of rooms, newest activity first; ``next`` goes into ``before``.

    ``complete`` is false for a user who has been in more than 2,000 rooms: the others are missing.
    """

    items: list[Conversation]
    next: str | None
    hasMore: bool
    complete: bool


class ReadMarkBody(AnyBody):
    """A read mark: all messages up to ``upTo``, and the message itself, are read."""

    up_to: Any = Field(default=None, description=MARK_FORM)


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


def mark_read(conversations: Conversations, request: Request[RoomPath, None, ReadMarkBody]) -> dict[str, Any]:
    """Move the caller's read mark in the room."""
    return conversations.mark_read(request.caller, request.path.room_id, request.body.up_to)


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
