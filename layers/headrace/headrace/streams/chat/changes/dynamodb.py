"""Changes of messages in the table of messages."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from headrace.core.items import Item
from headrace.runtime.aws import AwsClient
from headrace.storage.dynamodb.client import ConditionFailed, DynamoTable, to_wire
from headrace.streams.chat.change import CHANGE, CHANGE_KEY, DELETE, EDIT, FIRST_TEXT, MARKER, Change, partition
from headrace.streams.chat.messages.positions import STORED_AT

_CONDITION = f"attribute_exists(roomId) AND (attribute_not_exists({CHANGE_KEY}) OR {CHANGE_KEY} < :key)"
_EDIT = (
    f"SET {FIRST_TEXT} = if_not_exists({FIRST_TEXT}, message), message = :text, editedAt = :at, "
    f"{CHANGE_KEY} = :key, {STORED_AT} = :stored"
)
_DELETE = (
    f"SET message = :text, deletedAt = :at, deletedBy = :by, {CHANGE_KEY} = :key, {STORED_AT} = :stored "
    f"REMOVE {FIRST_TEXT}, editedAt"
)


class DynamoChanges:
    """A :class:`~headrace.streams.chat.change.ChangeStore`."""

    def __init__(self, client: AwsClient, table: str) -> None:
        self._table = DynamoTable(client, table, "messages")

    def message(self, room_id: str, key: str) -> Item | None:
        return self._table.get(_key(room_id, key))

    def changes_of(self, room_id: str, key: str) -> Sequence[Item]:
        # "$" follows "#", with which the rest of each of these keys begins.
        values = to_wire({":room": partition(room_id), ":from": f"{key}#", ":to": f"{key}$"})
        return list(
            self._table.query_all(
                "roomId",
                partition(room_id),
                KeyConditionExpression="roomId = :room AND timestampSk BETWEEN :from AND :to",
                ExpressionAttributeValues=values,
                ConsistentRead=True,
            )
        )

    def changed_rooms(self, room_ids: Collection[str]) -> set[str]:
        rows = self._table.get_many([_key(partition(room_id), MARKER) for room_id in room_ids])
        return {row["roomId"].removeprefix(partition("")) for row in rows}

    def mark_changed(self, room_id: str) -> None:
        self._table.put(_key(partition(room_id), MARKER))

    def apply(self, room_id: str, key: str, change: Change, stored_at: str) -> Item | None:
        values = {":text": change.text, ":at": change.at, ":key": change.key, ":stored": stored_at}
        expression = _EDIT
        if change.kind == DELETE:
            expression, values = _DELETE, {**values, ":text": "", ":by": change.by}
        try:
            return self._table.update(
                _key(room_id, key), expression, values, ConditionExpression=_CONDITION, ReturnValues="ALL_NEW"
            )
        except ConditionFailed:
            return None

    def set_stored(self, room_id: str, key: str, stored_at: str) -> None:
        expression = f"SET {STORED_AT} = :stored"
        self._table.update_if("attribute_exists(roomId)", _key(room_id, key), expression, {":stored": stored_at})

    def forget_text(self, change: Item) -> None:
        key = _key(change["roomId"], change["timestampSk"])
        self._table.update_if(
            "#change = :edit", key, "REMOVE message", {":edit": EDIT}, ExpressionAttributeNames={"#change": CHANGE}
        )


def _key(room_id: str, sort_key: str) -> Item:
    return {"roomId": room_id, "timestampSk": sort_key}
