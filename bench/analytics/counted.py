"""The messages that ``bench.analytics`` counts, and their table."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

TABLE, SHARDS = "ChatMessages", 8
ROOMS, USERS = 20, 17_000
MINUTE = 60_000_000
HOUR_START = 1_763_716_020_000_000
"""09:07 instead of a whole hour, so that a window consists of slots of several lengths."""


def messages(start: int, micros: int, count: int, seed: int) -> Iterator[dict[str, Any]]:
    """``count`` messages, evenly spread over ``micros`` microseconds from ``start``."""
    from headrace.core import keys, times

    chance = random.Random(seed)
    tag = keys.sender_tag("bench")
    for number in range(count):
        stamp = times.iso(start + number * micros // count)
        message_id = f"0199{chance.getrandbits(112):028x}"
        user = chance.randrange(USERS)
        yield {
            "roomId": f"room-{chance.randrange(ROOMS)}",
            "timestampSk": keys.timestamp_sk(stamp, message_id, tag),
            "userId": f"user-{user}",
            "username": f"User {user}",
            "message": f"message number {number}, about as long as people write in a chat",
            "messageType": "TEXT",
            "messageId": message_id,
            "timestamp": stamp,
            "bucketId": keys.bucket_id(message_id, SHARDS),
            "expiresAt": 4_000_000_000,
        }


def make_table(database: Any) -> None:
    """Create the table with its TimeIndex, as in template.yaml. Nothing here reads UserIndex, so it is left out."""
    names = ("roomId", "timestampSk", "bucketId")

    def schema(partition: str) -> list[dict[str, str]]:
        return [
            {"AttributeName": partition, "KeyType": "HASH"},
            {"AttributeName": "timestampSk", "KeyType": "RANGE"},
        ]

    database.create_table(
        TableName=TABLE,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in names],
        KeySchema=schema("roomId"),
        GlobalSecondaryIndexes=[
            {
                "IndexName": "TimeIndex",
                "KeySchema": schema("bucketId"),
                "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["userId", "expiresAt"]},
            }
        ],
    )


def fill(rows: Iterator[dict[str, Any]]) -> int:
    """Write ``rows``; returns their number."""
    from headrace.storage.dynamodb.batch_writer import DynamoStore

    store = DynamoStore(8, 60)
    count, batch = 0, []
    for row in rows:
        batch.append(row)
        count += 1
        if len(batch) == 5_000:
            _put(store, batch)
            batch = []
    _put(store, batch)
    return count


def _put(store: Any, batch: list[dict[str, Any]]) -> None:
    from headrace.storage.ports import Table

    failed = [each for each in store.put_many(Table(TABLE, ("roomId", "timestampSk")), batch) if each]
    if failed:
        raise SystemExit(f"{len(failed)} messages were not stored: {failed[0]}")
