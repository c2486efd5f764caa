"""The stream ``chat``: messages in rooms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, NotRequired, Protocol

from pydantic import Field
from typing_extensions import TypedDict

from headrace.core import keys, times
from headrace.core.caller import CHAT_WRITE, Caller, SenderContext, choose_time, choose_user
from headrace.core.errors import FieldError, InvalidEvent
from headrace.core.fields import (
    CanonicalTime,
    Cursor,
    EventModel,
    Id,
    IncomingModel,
    Key,
    Name,
    SenderTag,
    StoredId,
    Text,
    Time,
    incoming,
    named,
    stamped,
)
from headrace.core.items import Item, expires_at
from headrace.core.json import encode
from headrace.core.room_shards import partitions_of
from headrace.core.stream import (
    TIME_SHARDS,
    AnalyticsDimensions,
    ArchivedTable,
    Index,
    Result,
    Stream,
    TableSettings,
    ValidatedEvent,
)
from headrace.runtime.observability import Meter
from headrace.streams.chat.attachments.files import (
    ATTACHMENTS,
    COUNT_FORM,
    Attachment,
    LinkedAttachment,
    SentAttachments,
    dumped,
)
from headrace.streams.chat.message_row import CHANGE, KEY_FORM, MessageKey
from headrace.streams.chat.text import TEXT_FORM, MessageText

MESSAGE = "chat"
"""The kind of messages, which has the name of their stream."""
TEXT = "TEXT"
UNCHECKED = "uncheckedAt"
"""Attribute of a message whose sender's right could not be checked when it was accepted; it holds that time."""
ID_FIELD = "messageId"
THREAD = "thread"
"""Attribute of a reply, and the key of its index: the room and the message that it answers."""
REPLY_INDEX = "ReplyIndex"

POSITION_PATTERN = "p([0-9]{16})(?:-([0-9a-f]{12}))?"
POSITION = named(
    "Position",
    "Stands for all that was stored in a room before a moment; `since` it, history has the rest",
    type="string",
    pattern=f"^{POSITION_PATTERN}$",
)
PositionText = Annotated[str, POSITION]
"""A position as clients send and get it; :mod:`headrace.streams.chat.messages.positions` reads it."""
ReadTo = Annotated[str, named("ReadTo", "How far a user has read a room: the key of a message, or a time")]
MessageType = Annotated[
    Literal["TEXT", "JOIN", "LEAVE"], named("MessageType", "A text, or the notice of a join or leave")
]
_TYPES = "one of TEXT, JOIN, LEAVE"
_CLIENTS_TYPES = "TEXT; JOIN and LEAVE come from joining and leaving, or with the scope events:write"


class IncomingMessage(IncomingModel):
    """A message as a client sends it."""

    room_id: Id = Field(description=keys.ID_FORM)
    message: MessageText = Field(description=TEXT_FORM)
    message_id: Id | None = Field(default=None, description=keys.ID_FORM)
    timestamp: Time | None = Field(default=None, description=times.ACCEPTED_FORM)
    message_type: MessageType = Field(default="TEXT", description=_CLIENTS_TYPES)
    user_id: Id | None = Field(default=None, description=keys.ID_FORM)
    username: Name | None = Field(default=None, description=keys.STORED_ID_FORM)
    member_id: Id | None = Field(default=None, description=f"{keys.ID_FORM}; beside JOIN or LEAVE")
    member_name: Name | None = Field(default=None, description=f"{keys.STORED_ID_FORM}; beside memberId")
    reply_to: MessageKey | None = Field(default=None, description=f"{KEY_FORM}; beside TEXT")
    attachments: SentAttachments | None = Field(default=None, description=f"{COUNT_FORM}; beside TEXT")


class StampedMessage(EventModel):
    """A message in an envelope."""

    room_id: StoredId = Field(description=keys.STORED_ID_FORM)
    message_id: StoredId = Field(description=keys.STORED_ID_FORM)
    timestamp: CanonicalTime = Field(description="a canonical UTC time with six digits")
    user_id: StoredId = Field(description=keys.STORED_ID_FORM)
    username: Text = Field(description="a text")
    message: Text = Field(description="a text")
    message_type: MessageType = Field(description=_TYPES)
    sender: SenderTag = Field(description="12 characters of base32")
    unchecked_at: CanonicalTime | None = Field(default=None, description="a canonical UTC time with six digits")
    member_id: StoredId | None = Field(default=None, description=keys.STORED_ID_FORM)
    member_name: Text | None = Field(default=None, description="a text")
    reply_to: MessageKey | None = Field(default=None, description=KEY_FORM)
    attachments: list[Attachment] | None = Field(default=None, description=COUNT_FORM)


_incoming = incoming(IncomingMessage)
_stamped = stamped(StampedMessage)


def accept(raw: object, sender: SenderContext) -> ValidatedEvent:
    """A client's message, validated and stamped."""
    message = _incoming(raw)
    _check_type(message, sender)
    attachments = dumped(message.attachments)
    timestamp = choose_time(sender, ID_FIELD, message.message_id, message.timestamp)
    message_id = message.message_id or times.new_message_id(sender.now)
    user_id, username = choose_user(sender, message.user_id, message.username)
    # The username of a token may change between two attempts, and is not compared.
    content = [user_id, message.username or "", message.message_type, message.message]
    if message.member_id is not None and message.member_id != user_id:
        content.append(message.member_id)
    if message.reply_to is not None:
        content.insert(3, message.reply_to)  # the text stays last: the tag's cache keeps all but the last part
    if attachments:
        content.insert(3, encode(attachments))
    tag = keys.content_tag(sender.subject, *content)
    receipt = {"roomId": message.room_id, "messageId": message_id, "timestamp": timestamp}
    event: dict[str, Any] = {
        **receipt,
        "userId": user_id,
        "username": username,
        "message": message.message,
        "messageType": message.message_type,
        "sender": tag,
    }
    if message.reply_to is not None:
        event["replyTo"] = message.reply_to
    if attachments:
        event[ATTACHMENTS] = attachments
    if message.message_type != TEXT:
        event["memberId"] = message.member_id or user_id
        event["memberName"] = message.member_name or message.member_id or username
    return ValidatedEvent(event, message_id, (message.room_id, keys.timestamp_sk(timestamp, message_id, tag)), receipt)


def _check_type(message: IncomingMessage, sender: SenderContext) -> None:
    """Check that the sender may send a message of this type, with these fields."""
    if message.message_type != TEXT and not sender.trusted:
        detail = FieldError("messageType", "is not one that clients send", message.message_type, _CLIENTS_TYPES)
        raise InvalidEvent(details=[detail])
    if message.message_type == TEXT and (message.member_id or message.member_name):
        raise InvalidEvent(
            details=[FieldError("memberId", "is only for JOIN and LEAVE", message.member_id, "left out")]
        )
    if message.member_name and not message.member_id:
        detail = FieldError("memberName", "needs a memberId beside it", message.member_name, "left out")
        raise InvalidEvent(details=[detail])
    if message.reply_to and message.message_type != TEXT:
        raise InvalidEvent(details=[FieldError("replyTo", "is only for TEXT", message.reply_to, "left out")])
    if message.attachments and message.message_type != TEXT:
        raise InvalidEvent(details=[FieldError(ATTACHMENTS, "is only for TEXT", None, "left out")])


def item(event: dict[str, Any], accepted_at: int, table: TableSettings) -> Item:
    """The row of a stamped message. It is kept for ``table.retention_days``; 0 is without limit."""
    message = _stamped(event)
    row: Item = {
        "roomId": message.room_id,
        "timestampSk": keys.timestamp_sk(message.timestamp, message.message_id, message.sender),
        "userId": message.user_id,
        "username": message.username,
        "message": message.message,
        "messageType": message.message_type,
        "messageId": message.message_id,
        "timestamp": message.timestamp,
        "bucketId": keys.bucket_id(message.message_id, table.time_shards.write),
    }
    if message.member_id is not None:
        row |= {"memberId": message.member_id, "memberName": message.member_name or message.member_id}
    if message.reply_to is not None:
        row |= {"replyTo": message.reply_to, THREAD: thread(message.room_id, message.reply_to)}
    if message.attachments:
        row[ATTACHMENTS] = dumped(message.attachments)
    if message.unchecked_at is not None:
        row[UNCHECKED] = message.unchecked_at
    if table.retention_days:
        row["expiresAt"] = expires_at(message.timestamp, accepted_at, table.retention_days)
    return row


def thread(room_id: str, key: str) -> str:
    """What the replies to a message have in common. Only the room makes a key unique: two can have the same one."""
    return f"{room_id}#{key}"


def set_time(row: Item, timestamp: str) -> None:
    """Give a row the canonical time ``timestamp``, as if it had been sent with it."""
    seconds = times.micros_of(timestamp) // times.SECOND - times.micros_of(row["timestamp"]) // times.SECOND
    row["timestampSk"] = timestamp + row["timestampSk"].removeprefix(row["timestamp"])
    row["timestamp"] = timestamp
    if "expiresAt" in row:
        row["expiresAt"] += seconds


class MessageItem(TypedDict):
    """A stored message; ``key`` is its place in the room.

    The user of a JOIN or LEAVE is the one who did it; ``memberId`` is the member who joined or left. An edited message
    has its newest text and ``editedAt``; a deleted one has no text, and ``deletedAt`` and ``deletedBy``. ``replyTo`` is
    the key of the message that a reply answers; that message can be missing, deleted or expired. ``reactions`` says how
    many users chose each value: the 20 that most chose, with ``moreReactions`` if there are others; ``reactionsAt`` is
    when that last changed. ``attachments`` have addresses to read them at, except in frames.
    """

    key: Key
    roomId: str
    messageId: str
    timestamp: CanonicalTime
    userId: str
    username: str
    message: str
    messageType: MessageType
    memberId: NotRequired[str]
    memberName: NotRequired[str]
    replyTo: NotRequired[Key]
    attachments: NotRequired[list[LinkedAttachment]]
    reactions: NotRequired[dict[str, int]]
    moreReactions: NotRequired[bool]
    reactionsAt: NotRequired[CanonicalTime]
    editedAt: NotRequired[CanonicalTime]
    deletedAt: NotRequired[CanonicalTime]
    deletedBy: NotRequired[str]


class MessagePage(TypedDict):
    """A page, newest first: ``next`` leads to older messages, ``previous`` to newer ones.

    ``hasMore`` is about the direction of the request, and with ``around`` about both.
    """

    items: list[MessageItem]
    next: Cursor | None
    previous: Cursor | None
    hasMore: bool


class RoomMessagePage(MessagePage):
    """A page of a room. Sent as ``since``, its ``position`` selects the messages that were stored afterwards."""

    position: PositionText


ITEM_FIELDS = tuple(name for name in MessageItem.__annotations__ if name != "key")
"""Attributes of a row that clients see under the same names."""


def item_of(row: Mapping[str, Any]) -> dict[str, Any]:
    """The item that clients see of a row: the message, and ``key``, its place in the room."""
    item = {"key": row["timestampSk"]}
    item.update((name, row[name]) for name in ITEM_FIELDS if name in row)
    return item


USER_INDEX = "UserIndex"
CHAT = Stream(
    name=MESSAGE,
    id_field=ID_FIELD,
    write_scope=CHAT_WRITE,
    incoming=IncomingMessage,
    accept=accept,
    item=item,
    table_setting="CHAT_MESSAGES_TABLE",
    retention_setting="CHAT_RETENTION_DAYS",
    partition_key="roomId",
    sort_key="timestampSk",
    partitions=partitions_of,
    indexes=(
        Index(name=USER_INDEX, partition_key="userId", sort_key="timestampSk"),
        Index(name="TimeIndex", partition_key="bucketId", sort_key="timestampSk", sharded=True, shards=TIME_SHARDS),
        Index(name="LateIndex", partition_key="roomId", sort_key="storedAt", sparse=True),
        Index(name=REPLY_INDEX, partition_key=THREAD, sort_key="timestampSk", sparse=True),
    ),
    analytics_dimensions=AnalyticsDimensions(user="userId", groups=("roomId",)),
    people=(("userId", "user"), ("memberId", "user"), ("changedBy", "user")),
    kind_field=CHANGE,
    archived={
        frozenset(("roomId",)): ArchivedTable("chat", "rooms"),
        frozenset(("userId", "roomId")): ArchivedTable("chat", "memberships"),
    },
)


class Acceptor(Protocol):
    """Takes messages that the code of chat sends: those of frames, joins and leaves. ``delivery`` implements it."""

    def accept(
        self, stream: Stream, caller: Caller, raws: Sequence[object], correlation_id: str, meter: Meter
    ) -> list[Result]:
        """One result per event, in order. ``raws`` are events as clients send them."""
