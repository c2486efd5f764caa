"""Messages as clients send them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Protocol

from pydantic import Field

from headrace.api.error_bodies import Result
from headrace.core import keys, times
from headrace.core.caller import Caller
from headrace.core.errors import FieldError, InvalidEvent
from headrace.core.fields import NAME_FORM, Id, IncomingModel, Name, NewId, Time, extended, incoming
from headrace.core.json import encode
from headrace.core.sender import Incoming, SenderContext, ValidatedEvent, choose_time, choose_user
from headrace.core.stream import Stream
from headrace.runtime.observability import Meter
from headrace.streams.chat.message_row import TEXT_FORM, MessageText
from headrace.streams.chat.stream import ID_FIELD, TEXT, MessageField, MessageType

_CLIENTS_TYPES = "TEXT; JOIN and LEAVE come from joining and leaving, or with the scope events:write"


class IncomingMessage(IncomingModel, defer_build=True):
    """A message as a client sends it."""

    room_id: Id = Field(description=keys.ID_FORM)
    message: MessageText = Field(description=TEXT_FORM)
    message_id: NewId | None = Field(default=None, description=keys.NEW_ID_FORM)
    timestamp: Time | None = Field(default=None, description=times.ACCEPTED_FORM)
    message_type: MessageType = Field(default="TEXT", description=_CLIENTS_TYPES)
    user_id: Id | None = Field(default=None, description=keys.ID_FORM)
    username: Name | None = Field(default=None, description=NAME_FORM)
    member_id: Id | None = Field(default=None, description=f"{keys.ID_FORM}; beside JOIN or LEAVE")
    member_name: Name | None = Field(default=None, description=f"{NAME_FORM}; beside memberId")


Read = Callable[[object], IncomingMessage]
Fields = tuple[tuple[str, MessageField], ...]


def messages(fields: Mapping[str, MessageField]) -> Incoming:
    """How messages are sent; ``fields`` are those of features, by name."""
    sent = {name: (each.incoming | None, f"{each.form}; beside TEXT") for name, each in fields.items()}
    model = extended(IncomingMessage, sent)
    return Incoming(partial(accept, incoming(model), tuple(fields.items())), model)


def accept(read: Read, fields: Fields, raw: object, sender: SenderContext) -> ValidatedEvent:
    """A client's message, validated and stamped."""
    message = read(raw)
    values, added = message.__dict__, {}
    for name, field in fields:
        if values[name]:
            added[name] = field.dumped(values[name])
    _check_type(message, sender, added)
    timestamp = choose_time(sender, ID_FIELD, message.message_id, message.timestamp)
    message_id = message.message_id or times.new_message_id(sender.now)
    user_id, username = choose_user(sender, message.user_id, message.username)
    # The username of a token may change between two attempts, and is not compared.
    content = [user_id, message.username or "", message.message_type, message.message]
    if message.member_id is not None and message.member_id != user_id:
        content.append(message.member_id)
    for value in added.values():
        # The text stays last: the tag's cache keeps all but the last part.
        content.insert(3, value if isinstance(value, str) else encode(value))
    tag = keys.content_tag(sender.subject, *content)
    receipt = {"roomId": message.room_id, "messageId": message_id, "timestamp": timestamp}
    event: dict[str, Any] = {
        **receipt,
        "userId": user_id,
        "username": username,
        "message": message.message,
        "messageType": message.message_type,
        "sender": tag,
        **added,
    }
    if message.message_type != TEXT:
        event["memberId"] = message.member_id or user_id
        event["memberName"] = message.member_name or message.member_id or username
    key = message.room_id, keys.timestamp_sk(timestamp, message_id, tag)
    return ValidatedEvent(event, message_id, key, receipt)


def _check_type(message: IncomingMessage, sender: SenderContext, added: Mapping[str, Any]) -> None:
    """Check that the sender may send a message of this type, with these fields; ``added`` are those of features."""
    is_text = message.message_type == TEXT
    if not is_text and not sender.trusted:
        detail = FieldError("messageType", "is not one that clients send", message.message_type, _CLIENTS_TYPES)
    elif is_text and (message.member_id or message.member_name):
        detail = FieldError("memberId", "is only for JOIN and LEAVE", message.member_id, "left out")
    elif message.member_name and not message.member_id:
        detail = FieldError("memberName", "needs a memberId beside it", message.member_name, "left out")
    elif added and not is_text:
        name, value = next(iter(added.items()))
        detail = FieldError(name, "is only for TEXT", value if isinstance(value, str) else None, "left out")
    else:
        return
    raise InvalidEvent(details=[detail])


class Acceptor(Protocol):
    """Takes messages that the code of chat sends: those of frames, joins and leaves. ``delivery`` implements it."""

    def accept(
        self, stream: Stream, caller: Caller, raws: Sequence[object], correlation_id: str, meter: Meter
    ) -> list[Result]:
        """One result per event, in order. ``raws`` are events as clients send them."""
