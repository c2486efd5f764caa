"""Builds and parses the keys of tables and of the cache: sender tags, positions, read marks, time shards.

The parts of a key are joined by ``#``, which no id may contain. DynamoDB orders strings by their UTF-8 bytes, Python by
code points. Both give the same order, so what the tests show about the order of keys holds in the tables.

A canonical time is a bound on sort keys that begin with a time: it is below every key of that time and above every
earlier one. No sort key equals it, so BETWEEN two times includes the first and excludes the second.
"""

from __future__ import annotations

import functools
import unicodedata
from hashlib import blake2b, sha256
from typing import NamedTuple
from urllib.parse import quote

from headrace.core import texts
from headrace.core.times import is_canonical, parse

SEPARATOR = "#"
ID_LIMIT = 128
PARTITION_KEY_BYTES = 2048
SORT_KEY_BYTES = 1024
SENDER_TAG_LENGTH = 12
DERIVED_ID_LENGTH = 26
TIME_LENGTH = 27
ID_FORM = f"1 to {ID_LIMIT} characters of any script without '#', '/', '?' and control characters; not '.' or '..'"
"""The form of every id in a path, and of a room or user that an event names."""
NEW_ID_FORM = f"{ID_FORM}; without spaces and invisible characters around it, and controls of the direction of writing"
"""The form of an id that its sender makes."""
STORED_ID_FORM = f"1 to {ID_LIMIT} characters of any script, without '#' and control characters"
"""The form of stored ids and of ids to read by: users of a token may have ``/`` and ``?``."""


def normalize_id(value: str) -> str:
    """``value`` in NFC, if it may be part of a key (``STORED_ID_FORM``).

    Raises:
        ValueError: one sentence that says what is wrong.
    """
    value = texts.composed(value, ID_LIMIT)
    if not value:
        raise ValueError("is empty")
    if SEPARATOR in value:
        raise ValueError("contains '#'")
    if not value.isprintable() and any(unicodedata.category(each) in ("Cc", "Cs") for each in value):
        raise ValueError("contains a control character")
    return value


def path_id(value: str) -> str:
    """``value`` in NFC, if it may also be part of a URL's path (``ID_FORM``).

    A gateway may decode a path before it finds the route, so ``%2F`` and ``%3F`` in an id could lead to another route.
    Clients resolve the segments ``.`` and ``..`` themselves.

    Raises:
        ValueError: one sentence that says what is wrong.
    """
    value = normalize_id(value)
    if "/" in value or "?" in value:
        raise ValueError("contains '/'" if "/" in value else "contains '?'")
    if value in (".", ".."):
        raise ValueError(f"is '{value}'")
    return value


def new_id(value: str) -> str:
    """``value`` in NFC, if people can also see it and tell it from others (``NEW_ID_FORM``).

    Raises:
        ValueError: one sentence that says what is wrong.
    """
    value = path_id(value)
    if (value.strip(" ") if value.isascii() else texts.visible(value, ID_LIMIT)) != value:
        raise ValueError("begins or ends with a space or an invisible character")
    return value


def flaw_of(value: str) -> str:
    """Why ``value`` cannot be a new id; empty if it can."""
    try:
        new_id(value)
    except ValueError as error:
        return str(error)
    return ""


@functools.lru_cache(maxsize=1024)
def sender_tag(subject: str) -> str:
    """12 characters of base32 for a sender: part of the key, so that no sender can overwrite another's event."""
    return _tag(subject.encode())


def content_tag(subject: str, *content: str) -> str:
    """A tag for a sender and the content of an event, in the form of a :func:`sender_tag`.

    As part of the key, it makes the same event the same row, and other content another row (ADR 3).
    """
    *first, last = (subject, *content)
    return _tag(f"{_with_lengths(*first)}{len(last)}:{last}".encode())


@functools.lru_cache(maxsize=1024)
def _with_lengths(*parts: str) -> str:
    """The parts after their lengths, which keep them apart. Cached: of a sender's messages, only the text differs."""
    return "".join([f"{len(part)}:{part}" for part in parts])


_BASE32 = "abcdefghijklmnopqrstuvwxyz234567"
_PAIRS = [first + second for first in _BASE32 for second in _BASE32]


def _tag(value: bytes) -> str:
    """The first 60 bits of the SHA-256 in base32. base64.b32encode() would take most of the time of an event."""
    bits, pairs = int.from_bytes(sha256(value).digest()[:8], "big") >> 4, _PAIRS
    start = f"{pairs[bits >> 50]}{pairs[bits >> 40 & 1023]}{pairs[bits >> 30 & 1023]}"
    return f"{start}{pairs[bits >> 20 & 1023]}{pairs[bits >> 10 & 1023]}{pairs[bits & 1023]}"


def is_sender_tag(text: str) -> bool:
    """Whether ``text`` has the form of a sender tag."""
    return len(text) == SENDER_TAG_LENGTH and not text.strip(_BASE32)


def timestamp_sk(timestamp: str, message_id: str, tag: str) -> str:
    """The sort key of an event: ordered by time, then id, then sender."""
    return f"{timestamp}#{message_id}#{tag}"


class MessageKey(NamedTuple):
    """How a client names a message: by an item's ``key``, or by time and id, which several senders may share."""

    timestamp: str
    message_id: str
    sender_tag: str | None = None


def parse_timestamp_sk(key: str) -> MessageKey:
    """The parts of a ``timestampSk``, of which each is set.

    Raises:
        ValueError: not such a key.
    """
    parts = key.split(SEPARATOR)
    if len(parts) != 3 or not is_canonical(parts[0]) or not parts[1] or not is_sender_tag(parts[2]):
        raise ValueError("not a timestampSk")
    return MessageKey(*parts)


MESSAGE_KEY_FORM = "the key of an item, or timestamp#messageId"


def parse_message_key(text: str) -> MessageKey:
    """The parts of a message key; its time may be of any accepted form.

    Raises:
        ValueError: not of ``MESSAGE_KEY_FORM``.
    """
    timestamp, *rest = text.split(SEPARATOR)
    if len(rest) not in (1, 2) or (len(rest) == 2 and not is_sender_tag(rest[1])):
        raise ValueError(f"must be {MESSAGE_KEY_FORM}")
    return MessageKey(parse(timestamp), normalize_id(rest[0]), *rest[1:])


def before_message(timestamp: str, message_id: str) -> str:
    """A position in a room or index just before every message of that time and id."""
    return f"{timestamp}#{message_id}#"


def after_message(timestamp: str, message_id: str) -> str:
    """A position just after every message of that time and id: ``$`` follows ``#``."""
    return f"{timestamp}#{message_id}$"


def after_time(timestamp: str) -> str:
    """A position just after every message of that time."""
    return f"{timestamp}$"


def parse_read_mark(value: object) -> str:
    """The position after which messages are unread. ``value`` is a message key or a time, and is read itself.

    Raises:
        ValueError: neither.
    """
    if not isinstance(value, str) or SEPARATOR not in value:
        return after_time(parse(value))
    key = parse_message_key(value)
    if key.sender_tag is not None:
        return timestamp_sk(key.timestamp, key.message_id, key.sender_tag)
    return after_message(key.timestamp, key.message_id)


def shown_read_mark(position: str) -> str:
    """A read mark in the form in which clients send it."""
    return position.removesuffix("$")


def time_of(position: str) -> str:
    """The canonical time of a position, or of a sort key that begins with a time."""
    return position[:TIME_LENGTH]


def after_position(position: str) -> str:
    """A position after ``position``, with no other sort key in between: none begins with another."""
    return f"{position}#"


def bucket_id(event_id: str, shards: int) -> str:
    """The time shard of an event, ``"000"`` to ``shards`` - 1: the same whenever it is computed.

    It uses another hash than the choice of a persist queue. With the same one, the events of one queue, which are
    written together, would be in few shards only.
    """
    digest = blake2b(event_id.encode(), digest_size=8, person=b"bucketId").digest()
    return shard_names(shards)[int.from_bytes(digest, "big") % shards]


def shard_of(value: str, event_id: str, shards: int) -> str:
    """The partition of a row of ``value``, where the rows of one value are spread over ``shards``."""
    return f"{value}#{bucket_id(event_id, shards)}"


def shards_of(value: str, shards: int) -> list[str]:
    """All partitions of ``value``."""
    return [f"{value}#{name}" for name in shard_names(shards)]


@functools.cache
def shard_names(shards: int) -> list[str]:
    """All ``bucketId`` values of an index with ``shards`` shards."""
    return [f"{number:03d}" for number in range(shards)]


DIRECT_PREFIX = "direct:"
"""How the ids of direct rooms begin that the server makes. Only the server creates rooms with such an id."""


def direct_room(one: str, other: str) -> str:
    """The id of the direct room of two users, the same in either order."""
    return DIRECT_PREFIX + derived_id("direct", *sorted((one, other)))


def is_reserved_room(room_id: str) -> bool:
    """Whether only the server creates a room with this id."""
    return room_id.startswith(DIRECT_PREFIX)


_CHANNEL = "#user#"


def user_channel(user_id: str) -> str:
    """What stands for a user's channel where a room id would. No room id contains ``#``."""
    return _CHANNEL + user_id


def channel_user(room_id: str) -> str | None:
    """The user whose channel it is; ``None`` for a room."""
    return room_id.removeprefix(_CHANNEL) if room_id.startswith(_CHANNEL) else None


_STREAM = "#stream#"


def stream_channel(stream_key: str) -> str:
    """What stands for the events of a declared stream with one key, ``stream#key``, where a room id would."""
    return _STREAM + stream_key


def channel_stream(room_id: str) -> tuple[str, str] | None:
    """The declared stream and the key whose channel it is; ``None`` for a room or a user."""
    stream, _, key = room_id.removeprefix(_STREAM).partition(SEPARATOR)
    return (stream, key) if room_id.startswith(_STREAM) else None


def derived_id(*parts: object) -> str:
    """The id of an event that was sent without one: equal for equal ``parts``, of which none contains ``#``."""
    bits = int.from_bytes(sha256(SEPARATOR.join(map(str, parts)).encode()).digest(), "big")
    return "".join([_PAIRS[bits >> shift & 1023] for shift in range(246, 246 - 5 * DERIVED_ID_LENGTH, -10)])


def room_key(kind: str, room_id: str) -> str:
    """A cache key of a room. All of them have one hash tag, so that one script may use several in a cluster."""
    return f"{kind}:{{{quote(room_id, safe='')}}}"


def newest_page(room_id: str) -> str:
    """The cache key of a room's newest messages."""
    return room_key("newest", room_id)
