"""The HTTP routes of history and conversations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic import ConfigDict, Field
from typing_extensions import TypedDict

from headrace.api.paging.request import ListRequest, PageRequest
from headrace.api.params import AnyBody, UserPath
from headrace.api.router import Request
from headrace.core.fields import Number, whole_number
from headrace.streams.chat.messages.conversations import DEFAULT_LIMIT, LIMIT, MARK_FORM, Conversations
from headrace.streams.chat.messages.history import History, RoomPageRequest
from headrace.streams.chat.rooms.requests import MembershipState, RoomPath
from headrace.streams.chat.rooms.rooms import Form, RoomKind
from headrace.streams.chat.stream import MessageItem


class ConversationsQuery(ListRequest):
    """A page of a user's rooms."""

    limit: Number = whole_number(1, LIMIT, default=DEFAULT_LIMIT)
    place: str | None = Field(default=None, alias="before", description="a cursor from an earlier page")


class Conversation(TypedDict):
    """A room that the user is or was in.

    ``activityAt`` is exact to the second. ``lastMessage`` is the newest message that the user may read. ``unread``
    counts the texts of others in the user's membership intervals after ``readTo``, or since the user first joined; it
    is exact up to 100, and with ``unreadCapped`` there may be more.
    """

    roomId: str
    kind: RoomKind
    form: Form
    name: str | None
    topic: str | None
    membership: MembershipState
    activityAt: str
    lastMessage: MessageItem | None
    unread: int
    unreadCapped: bool
    readTo: str | None


class ConversationPage(TypedDict):
    """A page of rooms, newest activity first. Send ``next`` as ``before`` for the next page.

    Rooms that the user left for good are not in it. ``complete`` is false for a user of more than 2,000 rooms; the list
    then has the 2,000 newest, those that the user is in first.
    """

    items: list[Conversation]
    next: str | None
    hasMore: bool
    complete: bool


class ReadMarkBody(AnyBody):
    """A read mark: the messages up to and including ``upTo`` are read."""

    model_config = ConfigDict(json_schema_extra={"required": ["upTo"]})

    unknown = "is not a field of this route"

    up_to: Any = Field(default=None, description=MARK_FORM, json_schema_extra={"type": ["string", "integer"]})


class ReadMark(TypedDict):
    """The position up to which the user has read the room."""

    roomId: str
    readTo: str


@dataclass(frozen=True)
class ChatReading:
    """What the routes that read chat use."""

    history: History
    conversations: Conversations


def read_room(chat: ChatReading, request: Request[RoomPath, RoomPageRequest, None]) -> dict[str, Any]:
    """Read a page of a room's messages."""
    return chat.history.room(request.caller, request.path.room_id, request.query, request.query.since).to_body()


def read_user(chat: ChatReading, request: Request[UserPath, PageRequest, None]) -> dict[str, Any]:
    """Read a page of a user's messages, in all rooms that the caller may read."""
    return chat.history.user(request.caller, request.path.user_id, request.query).to_body()


def list_conversations(chat: ChatReading, request: Request[UserPath, ConversationsQuery, None]) -> dict[str, Any]:
    """List the rooms that the caller is or was in, newest activity first, with unread counts."""
    return chat.conversations.page(request.caller, request.path.user_id, request.query)


def mark_read(chat: ChatReading, request: Request[RoomPath, None, ReadMarkBody]) -> dict[str, Any]:
    """Move the caller's read mark in a room forward."""
    return chat.conversations.mark_read(request.caller, request.path.room_id, request.body.up_to)
