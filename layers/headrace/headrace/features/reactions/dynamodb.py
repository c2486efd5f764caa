"""Reactions in the table of messages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from headrace.core.items import Item
from headrace.features.reactions.reaction import reactions_partition
from headrace.streams.chat.message_row import REACTIONS_AT, SHOWN_REACTIONS
from headrace.streams.chat.messages.dynamodb import STORED, MessageTable
from headrace.streams.chat.messages.positions import STORED_AT


class DynamoReactions(MessageTable):
    """The rows of reactions, and the messages that show them. Methods may raise StoreUnavailable."""

    def reactions_to(self, room_id: str, key: str) -> Iterator[Item]:
        """The rows of the reactions to a message, by user, and those of each user by time."""
        return self.query_all("roomId", reactions_partition(room_id, key), ConsistentRead=True)

    def show_reactions(
        self, room_id: str, key: str, shown: Mapping[str, Any], before: str | None, stored_at: str
    ) -> Item | None:
        """Give a message that is not deleted the attributes ``shown`` of SHOWN_REACTIONS; the changed row, or ``None``.

        Only if its reactions were counted last at the time ``before``. Readers of positions find it at ``stored_at``.
        """
        values: Item = {":stored": stored_at, **{f":{name}": value for name, value in shown.items()}}
        counted = f"attribute_not_exists({REACTIONS_AT})"
        if before is not None:
            counted, values[":before"] = f"{REACTIONS_AT} = :before", before
        sets = [f"{STORED_AT} = :stored", *(f"{name} = :{name}" for name in shown)]
        gone = [name for name in SHOWN_REACTIONS if name not in shown]
        expression = f"SET {', '.join(sets)}" + (f" REMOVE {', '.join(gone)}" if gone else "")
        condition = f"{STORED} AND attribute_not_exists(deletedAt) AND {counted}"
        return self.update_message(room_id, key, condition, expression, values)
