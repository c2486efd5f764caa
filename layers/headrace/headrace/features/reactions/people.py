"""What a user leaves in reactions: what erases it, and what exports it."""

from __future__ import annotations

from functools import partial

from headrace.core.collections import parts
from headrace.core.items import Item
from headrace.core.people import PART, Progress, Source, Step, Target, lines_of
from headrace.features.edits.people import changes_of
from headrace.features.reactions.counts import ReactionCounts
from headrace.features.reactions.reaction import KINDS, VALUE, message_of
from headrace.features.reactions.storing import counts
from headrace.services.messages import message_table, room_log
from headrace.storage.dynamodb.client import rows_of
from headrace.streams.chat.messages.dynamodb import MessageTable, key_of
from headrace.streams.chat.messages.positions import new_tag
from headrace.streams.chat.messages.redis import RoomLog
from headrace.streams.chat.messages.room_log import Batch


def erase_reactions(table: MessageTable, counts: ReactionCounts, log: RoomLog, target: Target) -> Progress:
    """Delete the user's reactions. Their rows stay until the messages are counted: they lead to these."""
    for rows in parts(rows_of(changes_of(KINDS, table, target.user_id)), PART):
        places = sorted(set(map(message_of, rows)))
        # Without the cache, nothing is erased: a log may keep messages with these reactions for long.
        log.append({room_id: Batch(new_tag()) for room_id, _ in places})
        for row in rows:
            _take_back(table, row)
        for place in places:
            if (message := table.message(*place)) is not None:
                counts.apply(message, [])
        table.forget_rows(rows)
        yield "reactions", len(rows)


def _take_back(table: MessageTable, row: Item) -> None:
    names = {"ExpressionAttributeNames": {"#value": VALUE}}
    key = key_of(row["roomId"], row["timestampSk"])
    table.update_if("changeId = :id", key, "REMOVE #value", {":id": row["changeId"]}, **names)


def steps() -> list[Step]:
    return [partial(erase_reactions, message_table(), counts(), room_log())]


def sources(user_id: str, _skier_id: str | None) -> list[Source]:
    return [partial(lines_of, "reactions", partial(changes_of, KINDS), message_table(), user_id)]
