"""What a user leaves in edits and deletions: what erases it, what exports it, and what hides what people took back."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from headrace.core.collections import parts
from headrace.core.items import Item
from headrace.core.people import PART, Progress, Source, Step, Target, lines_of
from headrace.core.stream import EventScreen
from headrace.core.times import Clock, iso
from headrace.features.edits.change import KINDS, OWNER, changes_by, message_of
from headrace.features.edits.deleted_texts import AT_ONCE, DeletedTexts
from headrace.features.edits.dynamodb import DynamoChanges
from headrace.features.edits.storing import changes
from headrace.runtime.aws import client
from headrace.services.messages import messages_table_name
from headrace.services.shared import clock
from headrace.storage.dynamodb import client as tables
from headrace.storage.dynamodb.client import DynamoTable, rows_of
from headrace.streams.chat.message_row import CHANGE
from headrace.streams.chat.messages.dynamodb import key_of
from headrace.streams.chat.messages.positions import STORED_AT
from headrace.streams.chat.stream import CHAT, USER_INDEX


def changes_of(kinds: Iterable[str], messages: DynamoTable, user_id: str, start: Item | None = None) -> tables.Pages:
    """A user's changes of messages of these ``kinds``."""
    found = messages.query_pages("userId", changes_by(user_id), start, IndexName=USER_INDEX)
    return (([row for row in rows if row[CHANGE] in kinds], place) for rows, place in found)


def erase_changes(table: DynamoChanges, clock: Clock, target: Target) -> Progress:
    """Delete the user's edits. What the user deleted as an owner stays deleted, by a pseudonym."""
    for rows in parts(rows_of(changes_of(KINDS, table, target.user_id)), PART):
        for row in rows:
            if row["by"] == OWNER:
                _rename_owner(table, clock, target, row)
        table.forget_rows([row for row in rows if row["by"] != OWNER])
        yield "changes", len(rows)


def _rename_owner(table: DynamoChanges, clock: Clock, target: Target, row: Item) -> None:
    values: Item = {":user": target.user_id, ":name": target.pseudonym}
    stored = {":stored": iso(clock.now())}
    expression = f"SET deletedBy = :name, {STORED_AT} = :stored"
    table.update_if("deletedBy = :user", key_of(*message_of(row)), expression, values | stored)
    # Last: afterwards, the row is not found again.
    names = {":changes": changes_by(target.pseudonym)}
    own = key_of(row["roomId"], row["timestampSk"])
    table.update_if("changedBy = :user", own, "SET changedBy = :name, userId = :changes", values | names)


def steps() -> list[Step]:
    return [partial(erase_changes, changes(), clock())]


def sources(user_id: str, _skier_id: str | None) -> list[Source]:
    return [partial(lines_of, "changes", partial(changes_of, KINDS), changes(), user_id)]


def screens() -> dict[str, EventScreen]:
    impatient = client("dynamodb", timeout=1.0, attempts=1, connections=AT_ONCE)
    return {CHAT.name: DeletedTexts(DynamoChanges(impatient, messages_table_name(), "messages")).hidden}
