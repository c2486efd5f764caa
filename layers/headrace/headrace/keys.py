"""Builds and parses every key; no other code joins strings into one.

Parts of a key are joined by ``#``, which no id may contain. DynamoDB orders strings by their UTF-8 bytes, Python by
code points: the two agree, so the order properties proved in the tests hold in the table.
"""

from __future__ import annotations

import base64
import functools
import unicodedata
import zlib
from hashlib import blake2b, sha256
from typing import NamedTuple

from headrace.times import is_canonical

SEPARATOR = "#"
ID_LIMIT = 128
PARTITION_KEY_BYTES = 2048
SORT_KEY_BYTES = 1024
SENDER_TAG_LENGTH = 12
ID_FORM = f"1 to {ID_LIMIT} characters of any script, without '#' and control characters"

PERSIST_EXCHANGE = "headrace.events"
PARKED_EXCHANGE = "headrace.parked"
PARKED_QUEUE = "parked"


class TimestampSk(NamedTuple):
    """The parts of a ``timestampSk``."""

    timestamp: str
    message_id: str
    sender_tag: str


def normalize_id(value: str) -> str:
    """``value`` in NFC, if it may stand in a key (``ID_FORM``).

    Raises:
        ValueError: one sentence that says what is wrong.
    """
    if value.isascii():
        if value.isprintable() and 0 < len(value) <= ID_LIMIT and SEPARATOR not in value:
            return value
    else:
        # NFC shrinks what it composes at most fourfold; anything longer cannot end up within the limit.
        if len(value) > 4 * ID_LIMIT:
            raise ValueError(f"is longer than {ID_LIMIT} characters")
        value = unicodedata.normalize("NFC", value)
    if not value:
        raise ValueError("is empty")
    if len(value) > ID_LIMIT:
        raise ValueError(f"is longer than {ID_LIMIT} characters")
    if SEPARATOR in value:
        raise ValueError("contains '#'")
    if not value.isprintable() and any(unicodedata.category(character) in ("Cc", "Cs") for character in value):
        raise ValueError("contains a control character")
    return value


@functools.lru_cache(maxsize=1024)
def sender_tag(subject: str) -> str:
    """Who sent it, in 12 characters of base32: part of the key, so that nobody can overwrite another's event."""
    return base64.b32encode(sha256(subject.encode()).digest()).decode()[:SENDER_TAG_LENGTH].lower()


def is_sender_tag(text: str) -> bool:
    """Whether ``text`` has the form of a sender tag."""
    return len(text) == SENDER_TAG_LENGTH and all(character in _TAG_ALPHABET for character in text)


_TAG_ALPHABET = frozenset("abcdefghijklmnopqrstuvwxyz234567")


def timestamp_sk(timestamp: str, message_id: str, tag: str) -> str:
    """The sort key of an event: ordered by time, then id, then sender."""
    return f"{timestamp}#{message_id}#{tag}"


def parse_timestamp_sk(key: str) -> TimestampSk:
    """The parts of a ``timestampSk``.

    Raises:
        ValueError: not such a key.
    """
    parts = key.split(SEPARATOR)
    if len(parts) != 3 or not is_canonical(parts[0]) or not parts[1] or not is_sender_tag(parts[2]):
        raise ValueError("not a timestampSk")
    return TimestampSk(*parts)


def time_bound(timestamp: str) -> str:
    """A bound on sort keys at ``timestamp``: below every event of that time, above every earlier one.

    No event has exactly this key, so BETWEEN two bounds holds its start and not its end.
    """
    return timestamp


def bucket_id(event_id: str, shards: int) -> str:
    """The time shard of an event: the same at every replay. ``"003"`` of 0 to ``shards`` - 1.

    Another hash than :func:`queue_name`'s: with the same one, a queue's batches would fall on a few shards only.
    """
    digest = blake2b(event_id.encode(), digest_size=8, person=b"bucketId").digest()
    return shard_name(int.from_bytes(digest, "big") % shards)


def shard_name(number: int) -> str:
    """The ``bucketId`` of shard ``number``."""
    return f"{number:03d}"


def shard_names(shards: int) -> list[str]:
    """All ``bucketId`` values of an index with ``shards`` shards."""
    return [shard_name(number) for number in range(shards)]


def queue_name(event_id: str, queues: int) -> str:
    """The persist queue of an event, by its id: a hot room pins nothing."""
    return persist_queue(zlib.crc32(event_id.encode()) % queues)


def persist_queue(number: int) -> str:
    """The name of persist queue ``number``, which is also its routing key."""
    return f"persist.{number}"


def persist_queues(queues: int) -> list[str]:
    """The names of all persist queues."""
    return [persist_queue(number) for number in range(queues)]


def connection_room(connection_id: str) -> str:
    """The partition key of a connection's own row in Connections.

    ``#`` keeps it apart from every room, and the id in it spreads the rows over partitions.
    """
    return f"#connection#{connection_id}"


def probe_room(queue: str) -> str:
    """The partition key of the probes of one persist queue: ``#`` keeps it apart from every room."""
    return f"#probe#{queue}"


def fits(partition_key: str, sort_key: str | None = None) -> bool:
    """Whether a key's parts are within DynamoDB's limits, and not empty."""
    if not 0 < len(partition_key.encode()) <= PARTITION_KEY_BYTES:
        return False
    return sort_key is None or 0 < len(sort_key.encode()) <= SORT_KEY_BYTES
