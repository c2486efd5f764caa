"""Rooms with shards: the id of a room says over how many partitions its messages are spread.

    stadium~8   →   its messages are in the partitions stadium~8#000 to stadium~8#007

The partition of a message follows from its room and its sort key alone, so that a message which is stored again
replaces its row. Above the storage, a message has the id of its room: what is here is for reading and writing rows.
All other rows of a room, such as those of its changes, stay in one partition.
"""

from __future__ import annotations

from headrace.core import keys
from headrace.core.items import Item

COUNTS = {"2": 2, "4": 4, "8": 8, "16": 16}
"""The shards that a room may have, by the end of its id after the last ``~``."""


def shard_count(partition: str) -> int:
    """The number of shards of a room; 1 for all other rooms, and for what is no room, such as one shard."""
    if "~" not in partition or partition.startswith(keys.SEPARATOR):
        return 1
    return COUNTS.get(partition.rpartition("~")[2], 1)


def partitions_of(room_id: str) -> list[str]:
    """All partitions with messages of a room."""
    count = shard_count(room_id)
    return [room_id] if count == 1 else keys.shards_of(room_id, count)


def partition_of(room_id: str, sort_key: str) -> str:
    """The partition of a message."""
    count = shard_count(room_id)
    return room_id if count == 1 else keys.shard_of(room_id, sort_key, count)


def room_of(partition: str) -> str:
    """The room whose messages are in a partition; other partitions stay as they are."""
    if "~" not in partition or partition.startswith(keys.SEPARATOR):
        return partition
    return partition.partition(keys.SEPARATOR)[0]


def stored(row: Item) -> Item:
    """A row of the table of messages, or its key, as the table has it; another one if it is in a shard."""
    if "~" not in row["roomId"]:
        return row
    return {**row, "roomId": partition_of(row["roomId"], row["timestampSk"])}


def shown(row: Item) -> Item:
    """A row that was read, with the id of its room, if it has one. Changes the row."""
    if "~" in row.get("roomId", ""):
        row["roomId"] = room_of(row["roomId"])
    return row
