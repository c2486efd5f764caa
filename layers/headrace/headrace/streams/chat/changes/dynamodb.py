"""Changes of messages in the table of messages."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from headrace.core.items import Item
from headrace.runtime.aws import AwsClient
from headrace.storage.dynamodb.client import ConditionFailed, to_wire
from headrace.streams.chat.change import (
    AWAITED,
    CHANGE_KEY,
    DELETE,
    FIRST_TEXT,
    GONE_WHEN_DELETED,
    REACTIONS_AT,
    SHOWN_REACTIONS,
    Change,
    edits_of,
    is_message,
    partition,
    reactions_partition,
)
from headrace.streams.chat.messages.dynamodb import DynamoMessages
from headrace.streams.chat.messages.positions import STORED_AT

AT_ONCE = 10
"""Changes that one query reads: of most messages all, and of one with thousands not much more than is needed."""
_STORED = "attribute_exists(userId)"
_CONDITION = f"{_STORED} AND (attribute_not_exists({CHANGE_KEY}) OR {CHANGE_KEY} < :key)"
_EDIT = (
    f"SET {FIRST_TEXT} = if_not_exists({FIRST_TEXT}, message), message = :text, editedAt = :at, "
    f"{CHANGE_KEY} = :key, {STORED_AT} = :stored"
)
_DELETE = (
    f"SET message = :text, deletedAt = :at, deletedBy = :by, {CHANGE_KEY} = :key, {STORED_AT} = :stored "
    f"REMOVE {', '.join(GONE_WHEN_DELETED)}"
)


class DynamoChanges:
    """A :class:`~headrace.streams.chat.change_store.ChangeStore`."""

    def __init__(self, client: AwsClient, table: str) -> None:
        self._table = DynamoMessages(client, table, "messages")

    def message(self, room_id: str, key: str) -> Item | None:
        row = self._table.get(_key(room_id, key))
        return row if row is not None and is_message(row) else None

    def rows_of(self, places: Collection[tuple[str, str]], *attributes: str) -> dict[tuple[str, str], Item]:
        only = {"ProjectionExpression": ",".join(("roomId", "timestampSk", *attributes))} if attributes else {}
        found = self._table.get_many([_key(*place) for place in places], **only)
        return {(row["roomId"], row["timestampSk"]): row for row in found}

    def await_message(self, room_id: str, key: str, value: str, expires_at: int | None) -> bool:
        expression, values = f"SET {AWAITED} = :value", Item({":value": value})
        if expires_at is not None:
            expression += ", expiresAt = :at"
            values[":at"] = expires_at
        return self._table.update_if("attribute_not_exists(userId)", _key(room_id, key), expression, values)

    def store_awaited(self, message: Item, value: str) -> bool:
        condition = {
            "ConditionExpression": f"{AWAITED} = :value",
            "ExpressionAttributeValues": to_wire({":value": value}),
        }
        try:
            self._table.put(message, **condition)
        except ConditionFailed:
            return False
        return True

    def changes_of(self, room_id: str, key: str) -> Iterator[Item]:
        return self._query(room_id, f"{key}#", ScanIndexForward=False, Limit=AT_ONCE)

    def _query(self, room_id: str, beginning: str, **parameters: Any) -> Iterator[Item]:
        """The changes in a room whose sort keys have a ``beginning``, which ends with "#"."""
        # "$" follows "#".
        values = {":room": partition(room_id), ":from": beginning, ":to": f"{beginning[:-1]}$"}
        return self._table.query_all(
            "roomId",
            partition(room_id),
            KeyConditionExpression="roomId = :room AND timestampSk BETWEEN :from AND :to",
            ExpressionAttributeValues=to_wire(values),
            ConsistentRead=True,
            **parameters,
        )

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
        condition = f"{_STORED} AND (attribute_not_exists({STORED_AT}) OR {STORED_AT} < :stored)"
        values = {":stored": stored_at}
        self._table.update_if(condition, _key(room_id, key), f"SET {STORED_AT} = :stored", values)

    def set_expiry(self, room_id: str, key: str, expires_at: int) -> None:
        condition = f"{_STORED} AND (attribute_not_exists(expiresAt) OR expiresAt > :at)"
        self._table.update_if(condition, _key(room_id, key), "SET expiresAt = :at", {":at": expires_at})

    def forget(self, room_id: str, key: str) -> None:
        self.forget_rows([*self._query(room_id, edits_of(key)), *self.reactions_to(room_id, key)])

    def reactions_to(self, room_id: str, key: str) -> Iterator[Item]:
        return self._table.query_all("roomId", reactions_partition(room_id, key), ConsistentRead=True)

    def show_reactions(
        self, room_id: str, key: str, shown: Mapping[str, Any], before: str | None, stored_at: str
    ) -> Item | None:
        values: Item = {":stored": stored_at, **{f":{name}": value for name, value in shown.items()}}
        counted = f"attribute_not_exists({REACTIONS_AT})"
        if before is not None:
            counted, values[":before"] = f"{REACTIONS_AT} = :before", before
        condition = f"{_STORED} AND attribute_not_exists(deletedAt) AND {counted}"
        sets = [f"{STORED_AT} = :stored", *(f"{name} = :{name}" for name in shown)]
        gone = [name for name in SHOWN_REACTIONS if name not in shown]
        expression = f"SET {', '.join(sets)}" + (f" REMOVE {', '.join(gone)}" if gone else "")
        try:
            return self._table.update(
                _key(room_id, key), expression, values, ConditionExpression=condition, ReturnValues="ALL_NEW"
            )
        except ConditionFailed:
            return None

    def forget_rows(self, rows: Collection[Item]) -> None:
        self._table.delete_many([_key(row["roomId"], row["timestampSk"]) for row in rows])


def _key(room_id: str, sort_key: str) -> Item:
    return {"roomId": room_id, "timestampSk": sort_key}
