"""Hooks of changes: checked before they are stored, applied to their messages afterwards.

A change is stored as a separate row, and then applied to the row of its message, so that reading costs nothing more.
The row of a message is inserted once: a message that is sent or delivered again finds its row, and leaves it as it is.
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
from headrace.runtime.observability import report
from headrace.runtime.threads import Parallel
from headrace.storage.ports import Failure
from headrace.streams.chat.attachments.files import ATTACHMENTS
from headrace.streams.chat.attachments.store import Attachments
from headrace.streams.chat.change import (
    AUTHOR,
    AWAITED,
    CHANGE,
    DELETE,
    REACT,
    TRUSTED,
    VALUE,
    fold,
    message_of,
)
from headrace.streams.chat.change_store import ChangeStore
from headrace.streams.chat.changes.gate import ChangeRights
from headrace.streams.chat.changes.reactions import ReactionCounts
from headrace.streams.chat.messages.hooks import LiveHook
from headrace.streams.chat.messages.positions import STORED_AT, new_tag
from headrace.streams.chat.rooms.read_scope import ReadScope
from headrace.streams.chat.rooms.rooms import CachedRooms
from headrace.streams.chat.stream import UNCHECKED

TRIES = 5
"""So often a message that was awaited is stored again while others change it too."""
AT_ONCE = 8
_NEVER = 2**53


class ChangeCheck:
    """Checks changes and reactions before they are stored: those that could not be checked when they were accepted."""

    def __init__(self, rights: ChangeRights, rooms: CachedRooms, clock: Clock) -> None:
        self._rights = rights
        self._rooms = rooms
        self._clock = clock

    def before_store(self, items: Sequence[Item]) -> Sequence[Failure | None]:
        outcomes = [self._unchecked(item) if UNCHECKED in item else None for item in items]
        self._limit([item for item in items if item[CHANGE] != DELETE])
        return outcomes

    def _unchecked(self, item: Item) -> Failure | None:
        """Why a change may not be stored that could not be checked when it was accepted."""
        at, is_trusted = times.micros_of(item.pop(UNCHECKED)), item.pop(TRUSTED)
        room_id, key = message_of(item)
        given = {name: item[name] for name in (CHANGE, "changedBy", VALUE) if name in item}
        try:
            item["by"] = self._rights.by({"roomId": room_id, "key": key, **given}, at, is_trusted=is_trusted)
        except StoreUnavailable as error:
            return error
        except Conflict:
            item["by"] = AUTHOR  # deleted meanwhile: the hook forgets this change too
        except UserError:
            return PoisonRecord("not_allowed")
        return None

    def _limit(self, changes: Sequence[Item]) -> None:
        """Let edits and reactions expire with their messages. The row of a deletion has no text, and stays longer."""
        places = [message_of(item) for item in changes]
        found = self._rooms.retentions_if_possible({room_id for room_id, _ in places}) if places else {}
        for item, (room_id, key) in zip(changes, places, strict=True):
            found[room_id].limit(item, keys.time_of(key), self._clock.now())


class KnownMessages:
    """The hook of messages whose keys have a row already: they become what is stored."""

    def __init__(self, store: ChangeStore, attachments: Callable[[], Attachments], clock: Clock) -> None:
        self._store = store
        self._attachments = attachments
        self._reactions = ReactionCounts(store, clock)
        self._parallel = Parallel(AT_ONCE, "known messages")

    def known(self, items: Sequence[Item]) -> Sequence[StoreUnavailable | None]:
        try:
            rows = self._store.rows_of(set(map(message_of, items)))
        except StoreUnavailable as error:
            return [error] * len(items)
        return self._parallel.map(lambda item: self._become(item, rows.get(message_of(item))), items)

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
        room_id, key = place = message_of(item)
        for _ in range(TRIES):
            if row is None:
                break  # it has expired at this moment
            if AWAITED not in row:
                if (stored_at := item.get(STORED_AT, "")) > row.get(STORED_AT, ""):
                    self._store.set_stored(room_id, key, stored_at)
                    row[STORED_AT] = stored_at
                if (at := item.get("expiresAt", _NEVER)) < row.get("expiresAt", _NEVER):
                    self._store.set_expiry(room_id, key, at)
                    row["expiresAt"] = at
                return row
            message = self._with_changes(item)
            if self._store.store_awaited(message, row[AWAITED]):
                return message
            row = self._store.rows_of([place]).get(place)
        raise StoreThrottled("the row of a message is changed by others at the same moment")

    def _with_changes(self, item: Item) -> Item:
        """A message that is about to be stored, with its changes. Of a deleted one, nothing else is kept."""
        message = dict(item)
        room_id, key = message_of(item)
        if (change := fold(item["userId"], self._store.changes_of(room_id, key))) is not None:
            if change.kind == DELETE:
                self._attachments().delete(item)
                self._store.forget(room_id, key)
            change.apply_to(message)
        if "deletedAt" not in message:
            self._reactions.give(message)
        return message


class ChangeHook:
    """Applies changes and reactions that are stored, and publishes the changed messages as live ones.

    ``live`` publishes messages.
    """

    def __init__(
        self,
        store: ChangeStore,
        attachments: Callable[[], Attachments],
        live: LiveHook,
        rooms: CachedRooms,
        clock: Clock,
    ) -> None:
        self._store = store
        self._attachments = attachments
        self._live = live
        self._rooms = rooms
        self._clock = clock
        self._reactions = ReactionCounts(store, clock)

    def after_store(self, items: Sequence[Item]) -> Sequence[Reason | None]:
        rows: list[Item] = []
        places: dict[tuple[str, str], list[Item]] = {}
        for item in items:
            places.setdefault(message_of(item), []).append(item)
        outcomes = {place: self._apply(*place, changes, rows) for place, changes in places.items()}
        if rows and not self._live.push(rows, hides_earlier=True):
            self._live.mark(rows)  # a failure is reported: the next try would find nothing to apply, and mark nothing
        return [outcomes[message_of(item)] for item in items]

    def _apply(self, room_id: str, key: str, changes: Sequence[Item], rows: list[Item]) -> Reason | None:
        """Apply what a message shows after all its changes, of which ``changes`` are new."""
        kinds = {change[CHANGE] for change in changes}
        try:
            message = self._store.message(room_id, key)
            if message is None:
                expires_at = max((change["expiresAt"] for change in changes if "expiresAt" in change), default=None)
                if self._store.await_message(room_id, key, new_tag(), expires_at):
                    if REACT in kinds:
                        self._reactions.forget_replaced(room_id, key)
                    return None
                message = self._store.message(room_id, key)  # stored meanwhile
            if message is None:
                return FollowUpUnavailable("the message has expired at this moment")
            shown = rows if self._is_kept(message) else []
            if kinds != {REACT}:
                message = self._apply_texts(message, shown)
            if REACT in kinds and (row := self._reactions.apply(message)) is not None:
                shown.append(row)
        except StoreUnavailable as error:
            return _not_applied(error)
        return None

    def _apply_texts(self, message: Item, shown: list[Item]) -> Item:
        """Apply the edits and deletions of a message; its row. If they change it, it is in ``shown``.

        It is there before anything else can fail: the next try finds them applied, and would not show it.
        """
        room_id, key = message["roomId"], message["timestampSk"]
        change = fold(message["userId"], self._store.changes_of(room_id, key))
        if change is None:
            return message
        if change.kind == DELETE and ATTACHMENTS in message:
            self._attachments().delete(message)  # first: the row names them
        row = self._store.apply(room_id, key, change, times.iso(self._clock.now()))
        if row is not None:
            shown.append(row)
        if change.kind == DELETE:
            self._store.forget(room_id, key)
        return row or message

    def _is_kept(self, row: Item) -> bool:
        """Whether readers may still see a message. Its change may have waited in a lane for days."""
        now = self._clock.now()
        if row["timestamp"] >= times.iso(now - times.DAY):
            return True
        return ReadScope(None, partial(self._rooms.retention, row["roomId"])).shows(row, now)


def _not_applied(error: StoreUnavailable) -> Reason:
    report("changes", f"changes of messages are stored, but not applied yet: {error.message}")
    if isinstance(error, StoreThrottled):
        return error  # spends no try
    return FollowUpUnavailable("the changes of a message could not be applied")
