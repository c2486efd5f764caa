"""The port of the table of messages, as changes use it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Protocol

from headrace.core.items import Item
from headrace.streams.chat.change import Change


class ChangeStore(Protocol):
    """The table of messages, as changes use it. Reads are consistent; every method may raise StoreUnavailable."""

    def message(self, room_id: str, key: str) -> Item | None:
        """The row of a message that is stored."""

    def rows_of(self, places: Collection[tuple[str, str]], *attributes: str) -> dict[tuple[str, str], Item]:
        """The rows of messages, stored or awaited, by room and key; with these ``attributes``, or all."""

    def await_message(self, room_id: str, key: str, value: str, expires_at: int | None) -> bool:
        """Say under the key of a message that it has changes, with a new ``value``; ``False`` if it is stored."""

    def store_awaited(self, message: Item, value: str) -> bool:
        """Store a message that was awaited; ``False`` if its row has no longer this ``value``."""

    def changes_of(self, room_id: str, key: str) -> Iterator[Item]:
        """The rows of a message's changes: deletions, then edits, the latest first. It reads what is taken."""

    def apply(self, room_id: str, key: str, change: Change, stored_at: str) -> Item | None:
        """Apply a change to a stored message that has no later one; the changed row, or ``None``.

        ``stored_at`` is the canonical time at which the message is stored again, for readers of positions.
        """

    def set_stored(self, room_id: str, key: str, stored_at: str) -> None:
        """Set the time at which readers of positions find a stored message, unless it has a later one."""

    def set_expiry(self, room_id: str, key: str, expires_at: int) -> None:
        """Let a message expire at a time (epoch seconds), unless it expires sooner."""

    def forget(self, room_id: str, key: str) -> None:
        """Delete the edits of a message, which is deleted, and the reactions to it."""

    def reactions_to(self, room_id: str, key: str) -> Iterator[Item]:
        """The rows of the reactions to a message, by user, and those of each user by time."""

    def show_reactions(
        self, room_id: str, key: str, shown: Mapping[str, Any], before: str | None, stored_at: str
    ) -> Item | None:
        """Give a message that is not deleted the attributes ``shown`` of SHOWN_REACTIONS; the changed row, or ``None``.

        Only if its reactions were counted last at the time ``before``. Readers of positions find it at ``stored_at``.
        """

    def forget_rows(self, rows: Collection[Item]) -> None:
        """Delete rows of edits or reactions that count no more."""
