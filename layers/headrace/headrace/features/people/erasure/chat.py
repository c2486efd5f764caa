"""Erases a user from the messages, and deletes the messages of a room.

A user's message stays as the stub of a deleted one, so that pages, cursors and counts stay as they are. It has a
pseudonym instead of the user.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from headrace.core.collections import parts
from headrace.core.errors import StoreUnavailable
from headrace.core.items import Item
from headrace.core.keys import time_of
from headrace.core.people import AT_ONCE, PART, Progress, Target
from headrace.core.stream import Hook
from headrace.core.times import Clock, iso
from headrace.features.people.finders import messages_of, notices_of
from headrace.runtime.threads import Parallel
from headrace.storage.dynamodb.client import DynamoTable, rows_of
from headrace.streams.chat.message_row import AWAITED, CHANGE_KEY, ERASED, GONE_WHEN_DELETED, is_message, place_of
from headrace.streams.chat.messages.dynamodb import MessageTable, key_of
from headrace.streams.chat.messages.known import Remove
from headrace.streams.chat.messages.positions import STORED_AT, new_tag
from headrace.streams.chat.messages.redis import RoomLog
from headrace.streams.chat.messages.room_log import Batch
from headrace.streams.chat.room_shards import partitions_of
from headrace.streams.chat.rooms.rooms import free_from
from headrace.streams.chat.stream import ACCEPTED_AT, TEXT

_AS_DELETED = (
    f", deletedAt = if_not_exists(deletedAt, :at), deletedBy = :by, {CHANGE_KEY} = :erased "
    f"REMOVE {', '.join(GONE_WHEN_DELETED)}"
)


class ChatEraser:
    """Steps for messages. Positions and cached pages of their rooms, and analytics, follow.

    ``remove`` deletes what is kept beside a message.
    """

    def __init__(
        self,
        table: MessageTable,
        remove: Remove,
        log: RoomLog,
        late: Hook,
        clock: Clock,
    ) -> None:
        self._table = table
        self._remove = remove
        self._log = log
        self._late = late
        self._clock = clock
        self._parallel = Parallel(AT_ONCE, "erasure")

    def messages(self, target: Target) -> Progress:
        """Blank the user's messages, and replace the user's name in them and in notices."""
        found = rows_of(messages_of(self._table, target.user_id))
        for rows in parts(found, PART):
            self._mark(rows)
            yield "messages", sum(self._parallel.map(partial(self._erase, target), rows))

    def _erase(self, target: Target, row: Item) -> bool:
        self._remove(row)
        # The notice of an import may have a text too.
        expression = f"SET userId = :name, username = :name, message = :none, {STORED_AT} = :stored"
        values: Item = {":user": target.user_id, ":name": target.pseudonym, ":none": ""}
        values[":stored"] = iso(self._clock.now())
        if row.get("memberId") == target.user_id:
            expression += ", memberId = :name, memberName = :name"
        if row["messageType"] == TEXT:
            by = row.get("deletedBy", target.user_id)
            by = target.pseudonym if by == target.user_id else by
            expression += _AS_DELETED
            values |= {":at": target.erased_at, ":by": by, ":erased": ERASED}
        return self._table.update_if("userId = :user", key_of(*place_of(row)), expression, values)

    def notices(self, target: Target, membership: Item) -> int:
        """Take the user out of the notices of a membership, which others may have sent; returns how many."""
        renamed = 0
        values: Item = {":user": target.user_id, ":name": target.pseudonym, ":stored": iso(self._clock.now())}
        for row in notices_of(self._table, membership):
            expression = f"SET memberId = :name, memberName = :name, {STORED_AT} = :stored"
            renamed += self._table.update_if("memberId = :user", key_of(*place_of(row)), expression, values)
        return renamed

    def room(self, prefixes: Sequence[str], target: Target) -> Progress:
        """Delete the messages of a room with all that is kept beside them, in partitions that begin with ``prefixes``.

        Of a direct room that was opened again, those of the next room stay.
        """
        room_id, until = target.room_id, free_from(target.room_id, target.erased_at)
        for partition in (*partitions_of(room_id), *(prefix + room_id for prefix in prefixes)):
            # Also of messages that are awaited.
            found = rows_of(DynamoTable.query_pages(self._table, "roomId", partition, ConsistentRead=True))
            old = (row for row in found if row.get(ACCEPTED_AT, time_of(row["timestampSk"])) <= until)
            for rows in parts(old, PART):
                own = [row for row in rows if row["roomId"] == room_id]
                self._mark([*filter(is_message, own)])
                # With the mark, all that may be beside a message is looked for.
                self._parallel.map(lambda row: self._remove({AWAITED: "", **row}), own)
                self._table.forget_rows(rows)
                yield "messages" if own else "changes", len(rows)

    def _mark(self, rows: Sequence[Item]) -> None:
        """Let analytics and logs of rooms know that messages change, while they can be found.

        Without the cache, nothing is erased: a log may keep texts for long.
        """
        if any(self._late(rows)):
            raise StoreUnavailable("analytics cannot be marked as changed right now")
        if room_ids := {row["roomId"] for row in rows}:
            self._log.append({room_id: Batch(new_tag()) for room_id in room_ids})
