"""The stream ``chat``: messages in rooms."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Annotated, Any, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from headrace.core import keys, times
from headrace.core.caller import CHAT_WRITE
from headrace.core.fields import (
    CanonicalTime,
    Cursor,
    EventModel,
    Key,
    SenderTag,
    StoredId,
    Text,
    extended,
    named,
    stamped,
)
from headrace.core.items import Item, expires_at
from headrace.core.sender import Incoming
from headrace.core.stream import TIME_SHARDS, AnalyticsDimensions, ArchivedTable, Index, Kind, Stream, TableSettings
from headrace.streams.chat.message_row import CHANGE
from headrace.streams.chat.room_shards import partitions_of

MESSAGE = "chat"
"""The kind of messages, which has the name of their stream."""
TEXT = "TEXT"
ACCEPTED_AT = "acceptedAt"
"""Attribute of a message of a direct room whose time is ahead of its acceptance; it holds that time. So the deletion of
the room tells it from messages of the next room with the same id."""
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
FileType = Annotated[
    Literal[
        "image/png",
        "image/jpeg",
        "image/gif",
        "image/webp",
        "application/pdf",
        "application/zip",
        "application/octet-stream",
        "audio/mp4",
        "audio/mpeg",
        "audio/ogg",
        "text/plain",
        "video/mp4",
        "video/webm",
    ],
    named("FileType", "The type of an attachment; those without a type of their own are application/octet-stream"),
]
_TYPES = "one of TEXT, JOIN, LEAVE"


class StampedMessage(EventModel, defer_build=True):
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


@dataclass(frozen=True, slots=True)
class MessageField:
    """A field that a feature adds to texts.

    ``incoming`` and ``stamped`` are its types in both models, and ``form`` its accepted form. ``dumped`` makes the
    value in events and tags, and ``store`` puts it into a row.
    """

    incoming: Any
    stamped: Any
    form: str
    dumped: Callable[[Any], Any]
    store: Callable[[Item, Any], None]


@dataclass(frozen=True, slots=True)
class Messages:
    """Makes the rows of messages. ``fields`` are those of features, by name."""

    stamped: Callable[[object], StampedMessage]
    fields: tuple[tuple[str, MessageField], ...]

    def item(self, event: dict[str, Any], accepted_at: int, table: TableSettings) -> Item:
        """The row of a stamped message. It is kept for ``table.retention_days``; 0 is without limit."""
        message = self.stamped(event)
        timestamp, message_id = message.timestamp, message.message_id
        row: Item = {
            "roomId": message.room_id,
            "timestampSk": keys.timestamp_sk(timestamp, message_id, message.sender),
            "userId": message.user_id,
            "username": message.username,
            "message": message.message,
            "messageType": message.message_type,
            "messageId": message_id,
            "timestamp": timestamp,
            "bucketId": keys.bucket_id(message_id, table.time_shards.write),
        }
        if message.member_id is not None:
            row |= {"memberId": message.member_id, "memberName": message.member_name or message.member_id}
        values = message.__dict__
        for name, field in self.fields:
            if values[name]:
                field.store(row, values[name])
        if keys.is_reserved_room(message.room_id) and times.micros_of(timestamp) > accepted_at:
            row[ACCEPTED_AT] = times.iso(accepted_at)
        if message.unchecked_at is not None:
            row[UNCHECKED] = message.unchecked_at
        if table.retention_days:
            row["expiresAt"] = expires_at(timestamp, accepted_at, table.retention_days)
        return row


def set_time(row: Item, timestamp: str) -> None:
    """Give a row the canonical time ``timestamp``, as if it had been sent with it."""
    seconds = times.micros_of(timestamp) // times.SECOND - times.micros_of(row["timestamp"]) // times.SECOND
    row["timestampSk"] = timestamp + row["timestampSk"].removeprefix(row["timestamp"])
    row["timestamp"] = timestamp
    if "expiresAt" in row:
        row["expiresAt"] += seconds


class LinkedAttachment(TypedDict):
    """An attachment of a message, with the address to read it at for ten minutes; in frames, it has no address.

    Browsers show images of the types png, jpeg, gif and webp, and save all other files under their name.
    """

    id: str
    name: str
    type: FileType
    bytes: int
    url: NotRequired[str]


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
HIDDEN = {UNCHECKED, ACCEPTED_AT}
"""The attributes that no answer has, beside keys: they are for storing and deleting."""


def item_of(row: Mapping[str, Any]) -> dict[str, Any]:
    """The item that clients see of a row: the message, and ``key``, its place in the room."""
    item = {"key": row["timestampSk"]}
    item.update((name, row[name]) for name in ITEM_FIELDS if name in row)
    return item


def _of_a_stage(*_: Any) -> Any:
    raise RuntimeError("the stream of a stage, with the fields of its features, is in STREAMS")


USER_INDEX = "UserIndex"
CHAT = Stream(
    name=MESSAGE,
    id_field=ID_FIELD,
    write_scope=CHAT_WRITE,
    sent=_of_a_stage,
    item=_of_a_stage,
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
    people=(("userId", "user"), ("memberId", "user"), ("changedBy", "user"), ("roomId", "room")),
    kind_field=CHANGE,
    archived={
        frozenset(("roomId",)): ArchivedTable("chat", "rooms"),
        frozenset(("userId", "roomId")): ArchivedTable("chat", "memberships"),
    },
)
"""The table and its keys. Events need what features add: ``STREAMS`` has that (:mod:`headrace.stage.registry`)."""


def with_features(fields: Mapping[str, MessageField], absent: Sequence[str], kinds: Mapping[str, Kind]) -> Stream:
    """The stream with what features add: ``kinds`` of changes, and ``fields`` by name, in the order of the features.

    A stamped message with one of the fields ``absent`` is poison (``unknown_kind``): no message loses a field.
    """
    known = {name: (each.stamped | None, each.form) for name, each in fields.items()}
    all_known = known | dict.fromkeys(absent, (None, "left out"))
    messages = Messages(stamped(extended(StampedMessage, all_known)), tuple(fields.items()))
    return replace(CHAT, sent=cache(lambda: _sent(fields)), item=messages.item, kinds=kinds)


def _sent(fields: Mapping[str, MessageField]) -> Incoming:
    # Imported here: functions that store, push or read messages accept none.
    from headrace.streams.chat.incoming import messages

    return messages(fields)
