"""The hook of messages whose keys have a row already: one that is sent or delivered again finds its row, and keeps it.

A row that a change has left under the key of a message before it (``AWAITED``) is replaced by the message, once it has
its changes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from headrace.core.errors import StoreThrottled, StoreUnavailable
from headrace.core.items import Item
from headrace.runtime.threads import Parallel
from headrace.streams.chat.message_row import AWAITED, place_of
from headrace.streams.chat.messages.dynamodb import MessageTable
from headrace.streams.chat.messages.positions import STORED_AT

TRIES = 5
"""So often a message that was awaited is stored again while others change it too."""
AT_ONCE = 8
_NEVER = 2**53


Complete = Callable[[Item], None]
"""Gives a message that is about to be stored, and was awaited, what was kept for it. May raise StoreUnavailable."""
Remove = Callable[[Item], None]
"""Deletes what is kept beside a message that is deleted or erased. May raise StoreUnavailable."""


class KnownMessages:
    """Lets messages become what is stored. ``completes`` are those of features, in their order."""

    def __init__(self, table: MessageTable, completes: Callable[[], Sequence[Complete]]) -> None:
        self._table = table
        self._completes = completes
        self._parallel = Parallel(AT_ONCE, "known messages")

    def known(self, items: Sequence[Item]) -> Sequence[StoreUnavailable | None]:
        try:
            rows = self._table.rows_of(set(map(place_of, items)))
        except StoreUnavailable as error:
            return [error] * len(items)
        return self._parallel.map(lambda item: self._become(item, rows.get(place_of(item))), items)

    def _become(self, item: Item, row: Item | None) -> StoreUnavailable | None:
        try:
            stored = self._row_of(item, row)
        except StoreUnavailable as error:
            return error
        item.clear()
        item.update(stored)
        return None

    def _row_of(self, item: Item, row: Item | None) -> Item:
        """The row of a message, stored here if it was awaited; found by positions again, and kept as its room says."""
        room_id, key = place = place_of(item)
        for _ in range(TRIES):
            if row is None:
                break  # it has expired at this moment
            if AWAITED not in row:
                if (stored_at := item.get(STORED_AT, "")) > row.get(STORED_AT, ""):
                    self._table.set_stored(room_id, key, stored_at)
                    row[STORED_AT] = stored_at
                if (at := item.get("expiresAt", _NEVER)) < row.get("expiresAt", _NEVER):
                    self._table.set_expiry(room_id, key, at)
                    row["expiresAt"] = at
                return row
            message = {**item, AWAITED: row[AWAITED]}
            for complete in self._completes():
                complete(message)
            del message[AWAITED]
            if self._table.store_awaited(message, row[AWAITED]):
                return message
            row = self._table.rows_of([place]).get(place)
        raise StoreThrottled("the row of a message is changed by others at the same moment")
