"""Rows of the benchmarks: chat messages as persist_events stores them, and the store that writes rows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

Row = dict[str, Any]
CHAT_KEY = ("roomId", "timestampSk")
TEXT = "message number {}, about as long as people write in a chat"


def chat_row(room: str, number: int, micros: int, *, user: int, message_id: str = "", shards: int = 8) -> Row:
    """Message ``number`` of a user of ``room``, sent at ``micros`` since the epoch."""
    from headrace.core import keys, times

    message_id = message_id or f"0199{number:028x}"
    stamp = times.iso(micros)
    return {
        "roomId": room,
        "timestampSk": keys.timestamp_sk(stamp, message_id, keys.sender_tag(f"user-{user}")),
        "userId": f"user-{user}",
        "username": f"User {user}",
        "message": TEXT.format(number),
        "messageType": "TEXT",
        "messageId": message_id,
        "timestamp": stamp,
        "bucketId": keys.bucket_id(message_id, shards),
        "expiresAt": 4_000_000_000,
    }


def put(store: Any, table: str, key: tuple[str, str], rows: Iterable[Row]) -> None:
    """Write rows with a store of the layer. A row that is not stored ends the benchmark."""
    from headrace.storage.ports import Table

    found = [each for each in store.put_many(Table(table, key), list(rows)) if each is not None]
    if found:
        raise SystemExit(f"{len(found)} rows were not stored: {found[0]}")


def fill(table: str, key: tuple[str, str], rows: Iterable[Row]) -> None:
    """Write many rows as persist_events does, 5,000 at a time."""
    from headrace.core.collections import parts
    from headrace.storage.dynamodb.batch_writer import DynamoStore, writing_client
    from headrace.streams.chat.messages.dynamodb import MessageStore

    store = MessageStore(DynamoStore(writing_client(), 8, 60))
    for batch in parts(rows, 5_000):
        put(store, table, key, batch)
