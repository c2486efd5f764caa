"""Changes of messages in memory."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from threading import RLock
from typing import Any

from headrace.core.errors import StoreUnavailable
from headrace.core.items import Item
from headrace.features.edits.change import Change as MessageChange
from headrace.features.edits.change import edits_of, partition
from headrace.features.reactions.reaction import reactions_partition
from headrace.streams.chat.message_row import AWAITED, CHANGE_KEY, REACTIONS_AT, SHOWN_REACTIONS, is_message
from headrace.streams.chat.messages.positions import STORED_AT


class MemoryChanges:
    """Changes of messages in memory, for tests, in the ``rows`` of their table. ``down``: every call fails.

    A call is one step for other threads, as in DynamoDB.
    """

    def __init__(self, rows: dict[tuple[object, ...], Item]) -> None:
        self.rows = rows
        self.down = False
        self._one_step = RLock()

    def message(self, room_id: str, key: str) -> Item | None:
        self._call()
        row = self.rows.get((room_id, key))
        return dict(row) if row is not None and is_message(row) else None

    def rows_of(self, places: Collection[tuple[str, str]], *_: str) -> dict[tuple[str, str], Item]:
        self._call()
        return {place: dict(self.rows[place]) for place in places if place in self.rows}

    def await_message(self, room_id: str, key: str, value: str, expires_at: int | None) -> bool:
        with self._one_step:
            if self.message(room_id, key) is not None:
                return False
            expiry = {} if expires_at is None else {"expiresAt": expires_at}
            row = {"roomId": room_id, "timestampSk": key, AWAITED: value, **expiry}
            self.rows[room_id, key] = self.rows.get((room_id, key), {}) | row
            return True

    def store_awaited(self, message: Item, value: str) -> bool:
        with self._one_step:
            self._call()
            place = message["roomId"], message["timestampSk"]
            if self.rows.get(place, {}).get(AWAITED) != value:
                return False
            self.rows[place] = message
            return True

    def changes_of(self, room_id: str, key: str) -> Iterator[Item]:
        place = partition(room_id)
        found = [row for row in list(self.rows.values()) if row["roomId"] == place]
        for row in sorted(found, key=lambda row: str(row["timestampSk"]), reverse=True):
            self._call()
            if row["timestampSk"].startswith(f"{key}#"):
                yield row
        self._call()

    def apply(self, room_id: str, key: str, change: MessageChange, stored_at: str) -> Item | None:
        with self._one_step:
            row = self.message(room_id, key)
            if row is None or row.get(CHANGE_KEY, "") >= change.key:
                return None
            change.apply_to(row)
            self.rows[room_id, key] = row | {STORED_AT: stored_at}
            return self.rows[room_id, key]

    def set_stored(self, room_id: str, key: str, stored_at: str) -> None:
        with self._one_step:
            row = self.message(room_id, key)
            if row is not None and row.get(STORED_AT, "") < stored_at:
                self.rows[room_id, key] = row | {STORED_AT: stored_at}

    def set_expiry(self, room_id: str, key: str, expires_at: int) -> None:
        with self._one_step:
            row = self.message(room_id, key)
            if row is not None and row.get("expiresAt", expires_at + 1) > expires_at:
                self.rows[room_id, key] = row | {"expiresAt": expires_at}

    def forget_edits(self, room_id: str, key: str) -> None:
        with self._one_step:
            self._call()
            for place in list(self.rows):
                if place[0] == partition(room_id) and str(place[1]).startswith(edits_of(key)):
                    del self.rows[place]

    def reactions_to(self, room_id: str, key: str) -> Iterator[Item]:
        self._call()
        place = reactions_partition(room_id, key)
        found = [row for row in list(self.rows.values()) if row["roomId"] == place]
        return iter(sorted(found, key=lambda row: str(row["timestampSk"])))

    def show_reactions(
        self, room_id: str, key: str, shown: Mapping[str, Any], before: str | None, stored_at: str
    ) -> Item | None:
        with self._one_step:
            row = self.message(room_id, key)
            if row is None or "deletedAt" in row or row.get(REACTIONS_AT) != before:
                return None
            row = {name: value for name, value in row.items() if name not in SHOWN_REACTIONS}
            self.rows[room_id, key] = row | {**shown, STORED_AT: stored_at}
            return self.rows[room_id, key]

    def forget_rows(self, rows: Collection[Item]) -> None:
        self._call()
        for row in rows:
            self.rows.pop((row["roomId"], row["timestampSk"]), None)

    def _call(self) -> None:
        if self.down:
            raise StoreUnavailable("the table is unavailable")
