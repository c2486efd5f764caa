"""Hooks of changes: checked before they are stored, applied to their messages afterwards.

A change is stored as a separate row, and then applied to the row of its message, so that reading costs nothing more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from headrace.core import keys, times
from headrace.core.errors import (
    Conflict,
    FollowUpUnavailable,
    PoisonRecord,
    StoreThrottled,
    StoreUnavailable,
    UserError,
)
from headrace.core.items import Item
from headrace.core.stream import Reason
from headrace.core.times import Clock
from headrace.features.edits.change import AUTHOR, DELETE, TRUSTED, PlaceOf, fold
from headrace.features.edits.dynamodb import DynamoChanges
from headrace.features.edits.gate import ChangeRights
from headrace.runtime.observability import report
from headrace.storage.ports import Failure
from headrace.streams.chat.message_row import CHANGE, CHANGE_KEY, place_of
from headrace.streams.chat.messages.dynamodb import MessageTable
from headrace.streams.chat.messages.hooks import LiveHook
from headrace.streams.chat.messages.known import Remove
from headrace.streams.chat.messages.positions import new_tag
from headrace.streams.chat.rooms.read_scope import ReadScope
from headrace.streams.chat.rooms.rooms import CachedRooms
from headrace.streams.chat.stream import UNCHECKED


class ChangeCheck:
    """Checks changes of one kind before they are stored: those that could not be checked when they were accepted."""

    def __init__(self, rights: ChangeRights, rooms: CachedRooms, clock: Clock, message_of: PlaceOf) -> None:
        self._rights = rights
        self._rooms = rooms
        self._clock = clock
        self._message_of = message_of

    def before_store(self, items: Sequence[Item]) -> Sequence[Failure | None]:
        outcomes = [self._unchecked(item) if UNCHECKED in item else None for item in items]
        self._limit([item for item in items if item[CHANGE] != DELETE])
        return outcomes

    def _unchecked(self, item: Item) -> Failure | None:
        """Why a change may not be stored that could not be checked when it was accepted."""
        at, is_trusted = times.micros_of(item.pop(UNCHECKED)), item.pop(TRUSTED)
        room_id, key = self._message_of(item)
        try:
            item["by"] = self._rights.by({**item, "roomId": room_id, "key": key}, at, is_trusted=is_trusted)
        except StoreUnavailable as error:
            return error
        except Conflict:
            item["by"] = AUTHOR  # deleted meanwhile: the hook forgets this change too
        except UserError:
            return PoisonRecord("not_allowed")
        return None

    def _limit(self, changes: Sequence[Item]) -> None:
        """Let edits and reactions expire with their messages. The row of a deletion has no text, and stays longer."""
        places = [self._message_of(item) for item in changes]
        found = self._rooms.retentions_if_possible({room_id for room_id, _ in places}) if places else {}
        for item, (room_id, key) in zip(changes, places, strict=True):
            found[room_id].limit(item, keys.time_of(key), self._clock.now())


class ChangeHook:
    """Applies changes of one kind that are stored, and publishes the changed messages as live ones.

    ``apply(message, shown)`` changes the row of a stored message, and adds the changed row to ``shown`` before anything
    else can fail: the next try finds the change applied. ``wait(room_id, key)`` is called for a message that is not
    stored yet. Both may raise StoreUnavailable.
    """

    def __init__(
        self,
        table: MessageTable,
        apply: Callable[[Item, list[Item]], None],
        live: LiveHook,
        rooms: CachedRooms,
        clock: Clock,
        message_of: PlaceOf,
        wait: Callable[[str, str], None] = lambda _room_id, _key: None,
    ) -> None:
        self._table = table
        self._apply = apply
        self._live = live
        self._rooms = rooms
        self._clock = clock
        self._message_of = message_of
        self._wait = wait

    def after_store(self, items: Sequence[Item]) -> Sequence[Reason | None]:
        rows: list[Item] = []
        places: dict[tuple[str, str], list[Item]] = {}
        for item in items:
            places.setdefault(self._message_of(item), []).append(item)
        outcomes = {place: self._settle(*place, changes, rows) for place, changes in places.items()}
        if rows and not self._live.push(rows, hides_earlier=True):
            self._live.mark(rows)  # a failure is reported: the next try would find nothing to apply, and mark nothing
        return [outcomes[self._message_of(item)] for item in items]

    def _settle(self, room_id: str, key: str, changes: Sequence[Item], rows: list[Item]) -> Reason | None:
        """Let a message show what follows from all its changes, of which ``changes`` are new."""
        try:
            message = self._table.message(room_id, key)
            if message is None:
                expires_at = max((change["expiresAt"] for change in changes if "expiresAt" in change), default=None)
                if self._table.await_message(room_id, key, new_tag(), expires_at):
                    self._wait(room_id, key)
                    return None
                message = self._table.message(room_id, key)  # stored meanwhile
            if message is None:
                return FollowUpUnavailable("the message has expired at this moment")
            self._apply(message, rows if self._is_shown(message) else [])
        except StoreUnavailable as error:
            report("changes", f"changes of messages are stored, but not applied yet: {error.message}")
            if isinstance(error, StoreThrottled):
                return error  # spends no try
            return FollowUpUnavailable("the changes of a message could not be applied")
        return None

    def _is_shown(self, message: Item) -> bool:
        """Whether readers may still see a message. Its change may have waited in a lane for days."""
        now = self._clock.now()
        if message["timestamp"] >= times.iso(now - times.DAY):
            return True  # without a read: while the table of rooms is away, changes of today are applied
        return ReadScope(None, partial(self._rooms.retention, message["roomId"])).shows(message, now)


class Texts:
    """The newest texts of messages, and what is left of deleted ones. Methods may raise StoreUnavailable.

    ``remove_first`` deletes what only the row of a message leads to, and ``remove`` all that is kept beside it.
    """

    def __init__(self, store: DynamoChanges, remove_first: Remove, remove: Remove, clock: Clock) -> None:
        self._store = store
        self._remove_first = remove_first
        self._remove = remove
        self._clock = clock

    def apply(self, message: Item, shown: list[Item]) -> None:
        """Apply the edits and deletions of a stored message."""
        room_id, key = place_of(message)
        change = fold(message["userId"], self._store.changes_of(room_id, key))
        if change is None:
            return
        if change.kind == DELETE:
            self._remove_first(message)
        row = self._store.apply(room_id, key, change, times.iso(self._clock.now()))
        if row is not None:
            shown.append(row)
        if change.kind == DELETE:
            self._remove(row or {**message, CHANGE_KEY: change.key})

    def complete(self, message: Item) -> None:
        """Give a message that was awaited its newest text. Of a deleted one, nothing else is kept."""
        room_id, key = place_of(message)
        if (change := fold(message["userId"], self._store.changes_of(room_id, key))) is not None:
            if change.kind == DELETE:
                self._remove(message)
            change.apply_to(message)
