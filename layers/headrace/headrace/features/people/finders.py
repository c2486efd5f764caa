"""Finds the rows that name a person, for what erases them and what exports them.

Each function takes the table, whom to look for, and the place to begin at. It returns pages.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from headrace.core.items import Item
from headrace.storage.dynamodb.client import DynamoTable, Pages, to_wire
from headrace.streams.chat.room_shards import partitions_of
from headrace.streams.chat.rooms.memberships import INVITED, INVITERS
from headrace.streams.chat.stream import USER_INDEX

_CONNECTIONS_BY_USER = "ByUser"
_INVITED_OTHERS = "roomId = :one AND begins_with(userId, :inviters) AND attribute_not_exists(blockedAt)"
_NAMES_USER = f"addedBy = :user OR invitedBy = :user OR ({_INVITED_OTHERS})"


def messages_of(messages: DynamoTable, user_id: str, start: Item | None = None) -> Pages:
    """The user's messages, and notices that the user sent. The index may lag by milliseconds."""
    return messages.query_pages("userId", user_id, start, IndexName=USER_INDEX)


def notices_of(messages: DynamoTable, membership: Item) -> Iterator[Item]:
    """The notices of the joins and leaves of a membership, which others may have sent."""
    partitions = partitions_of(membership["roomId"])
    events = sorted({*membership.get("joins", ()), *membership.get("leaves", ())})
    for event, partition in product(events, partitions):
        yield from messages.query_all(
            "roomId",
            partition,
            KeyConditionExpression="roomId = :room AND begins_with(timestampSk, :event)",
            ExpressionAttributeValues=to_wire({":room": partition, ":event": f"{event}#"}),
            ConsistentRead=True,
        )


def connections_of(connections: DynamoTable, user_id: str, start: Item | None = None) -> Pages:
    """The keys of the user's connections and subscriptions."""
    return connections.query_pages("userId", user_id, start, IndexName=_CONNECTIONS_BY_USER)


def memberships_of(memberships: DynamoTable, user_id: str, start: Item | None = None) -> Pages:
    """The user's memberships, with read marks; of rooms that the user has left too."""
    return memberships.query_pages("userId", user_id, start, ConsistentRead=True)


def invitations_of(memberships: DynamoTable, user_id: str, start: Item | None = None) -> Pages:
    """The user's open invitations."""
    return memberships.query_pages("userId", INVITED + user_id, start, ConsistentRead=True)


def inviters_of(memberships: DynamoTable, user_id: str, start: Item | None = None) -> Pages:
    """Who has invited the user or is blocked by the user."""
    return memberships.query_pages("userId", INVITERS + user_id, start, ConsistentRead=True)


def named_by_others(memberships: DynamoTable, user_id: str, start: Item | None = None) -> Pages:
    """Memberships and invitations of others that name the user. No index leads there: the table is read.

    Who blocks the user is not found: that belongs to who does.
    """
    values = {":user": user_id, ":one": f"#{user_id}", ":inviters": INVITERS}
    return memberships.scan_pages(start, FilterExpression=_NAMES_USER, ExpressionAttributeValues=to_wire(values))


def rooms_naming(rooms: DynamoTable, user_id: str, start: Item | None = None) -> Pages:
    """The rooms that the user made, and direct ones where the user has a seat. The table is read."""
    condition = "createdBy = :user OR contains(seats, :user)"
    return rooms.scan_pages(start, FilterExpression=condition, ExpressionAttributeValues=to_wire({":user": user_id}))
