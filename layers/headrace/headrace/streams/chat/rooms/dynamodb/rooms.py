"""Rooms in the Rooms table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from headrace.core.errors import StoreUnavailable
from headrace.core.items import Item
from headrace.runtime.aws import AwsClient
from headrace.storage.dynamodb.client import ConditionFailed, DynamoTable
from headrace.streams.chat.rooms.rooms import DIRECT_SEATS, Room, seats_taken


class DynamoRooms:
    """:class:`Rooms` in the Rooms table; every read is consistent."""

    def __init__(self, client: AwsClient, table: str) -> None:
        self._table = DynamoTable(client, table, "rooms")

    def get(self, room_id: str) -> Room | None:
        row = self._table.get({"roomId": room_id})
        return None if row is None else room_of(row)

    def get_many(self, room_ids: Sequence[str]) -> dict[str, Room | None]:
        found: dict[str, Room | None] = dict.fromkeys(room_ids)
        rows, unread = self._table.get_many([{"roomId": room_id} for room_id in found])
        found |= {row["roomId"]: room_of(row) for row in rows}
        for key in unread:
            del found[key["roomId"]]
        return found

    def create(self, room: Room) -> Room:
        try:
            row = {name: value for name, value in room.to_body().items() if value is not None}
            self._table.put(row, ConditionExpression="attribute_not_exists(roomId)")
        except ConditionFailed:
            existing = self.get(room.room_id)
            if existing is None:
                raise StoreUnavailable("the room cannot be read right now; try again shortly") from None
            return existing
        return room

    def change(self, room_id: str, texts: Mapping[str, str | None]) -> Room:
        given = {name: text for name, text in texts.items() if text is not None}
        parts = [
            "SET " + ", ".join(f"#{name} = :{name}" for name in given) if given else "",
            "REMOVE " + ", ".join(f"#{name}" for name in texts if name not in given) if len(given) < len(texts) else "",
        ]
        row = self._table.update(
            {"roomId": room_id},
            " ".join(part for part in parts if part),
            {":room": room_id, **{f":{name}": text for name, text in given.items()}},
            # No partial row: a room is never deleted, except by an operator.
            ConditionExpression="roomId = :room",
            ExpressionAttributeNames={f"#{name}": name for name in texts},
            ReturnValues="ALL_NEW",
        )
        return room_of(row)

    def take_seat(self, room_id: str, user_id: str) -> None:
        condition = "attribute_not_exists(seats) OR size(seats) < :seats OR contains(seats, :one)"
        values = {":user": {user_id}, ":one": user_id, ":seats": DIRECT_SEATS}
        if not self._table.update_if(condition, {"roomId": room_id}, "ADD seats :user", values):
            raise seats_taken(user_id)


def room_of(row: Item) -> Room:
    """The room in a row of the Rooms table."""
    return Room(
        row["roomId"], row["kind"], row["form"], row["createdAt"], row["createdBy"], row.get("name"), row.get("topic")
    )
