"""The HTTP routes of history and conversations."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field
from typing_extensions import TypedDict

from headrace.api.paging.request import ListRequest, PageRequest
from headrace.api.params import AnyBody, whole_number
from headrace.api.router import Request
from headrace.streams.chat.conversations import Conversations
from headrace.streams.chat.history import History
from headrace.streams.chat.room_requests import ListPage, RoomPath, UserPath


class ConversationsQuery(ListRequest):
    """A page of a user's rooms."""

    limit: Annotated[int, BeforeValidator(whole_number(1, 50))] = Field(
        default=20, description="a whole number from 1 to 50"
    )
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


class ConversationPage(ListPage):
    """``complete`` is false where the user is in more rooms than are looked at."""

    complete: bool


class ReadMark(TypedDict):
    """Up to where a user has read a room."""

    roomId: str
    readTo: str


def read_room(history: History, request: Request[RoomPath, PageRequest, None]) -> str:
    """A page of one room's messages."""
    return history.room(request.caller, request.path.room_id, request.query).text()


def read_user(history: History, request: Request[UserPath, PageRequest, None]) -> str:
    """A page of one user's messages."""
    return history.user(request.caller, request.path.user_id, request.query).text()


def list_conversations(
    conversations: Conversations, request: Request[UserPath, ConversationsQuery, None]
) -> dict[str, Any]:
    """A page of the user's rooms."""
    return conversations.page(request.caller, request.path.user_id, request.query)


def mark_read(conversations: Conversations, request: Request[RoomPath, None, AnyBody]) -> dict[str, Any]:
    """Move the caller's read mark in the room."""
    return conversations.mark_read(request.caller, request.path.room_id, request.content.get("upTo"))
