"""The port of the rows of edits and deletions, which are in the table of messages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from headrace.core.items import Item
from headrace.features.edits.change import Change
from headrace.streams.chat.message_row import MessageTable


class ChangeStore(MessageTable, Protocol):
    """The table of messages, as edits use it."""

    def changes_of(self, room_id: str, key: str) -> Iterator[Item]:
        """The rows of a message's changes: deletions, then edits, the latest first. It reads what is taken."""

    def apply(self, room_id: str, key: str, change: Change, stored_at: str) -> Item | None:
        """Apply a change to a stored message that has no later one; the changed row, or ``None``.

        ``stored_at`` is the canonical time at which the message is stored again, for readers of positions.
        """

    def forget_edits(self, room_id: str, key: str) -> None:
        """Delete the edits of a message, which is deleted."""
