"""Hooks of changes: checked before they are stored, applied to their messages afterwards.

A change is stored as a separate row, and then applied to the row of its message, so that reading costs nothing more.
A message that is stored again would lose its changes. So a message that is stored more than ``LATE`` after its own time
gets them again: before it is stored, so that no reader sees the earlier text, and after it, because a change may have
been stored between the two. Until then, a change is applied again by the retry lane, until it is ``SETTLED``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from headrace.core import keys, times
from headrace.core.collections import BoundedDict
from headrace.core.errors import (
    Conflict,
    FollowUpUnavailable,
    PoisonRecord,
    StoreThrottled,
    StoreUnavailable,
    UserError,
)
from headrace.core.items import Item
from headrace.core.stream import AfterStore, BeforeStore, Stream
from headrace.core.times import Clock
from headrace.runtime.observability import report
from headrace.storage.ports import Failure
from headrace.streams.chat.attachments.files import ATTACHMENTS
from headrace.streams.chat.attachments.store import Attachments
from headrace.streams.chat.change import (
    AUTHOR,
    CHANGE,
    DELETE,
    REACT,
    TRUSTED,
    VALUE,
    Kind,
    fold,
    is_change,
    message_of,
)
from headrace.streams.chat.change_store import ChangeStore
from headrace.streams.chat.changes.gate import ChangeRights
from headrace.streams.chat.changes.reactions import ReactionCounts
from headrace.streams.chat.messages.hooks import LiveHook
from headrace.streams.chat.messages.positions import LATE, STORED_AT, UNLOGGED
from headrace.streams.chat.rooms.rooms import CachedRooms
from headrace.streams.chat.stream import UNCHECKED

SETTLED = LATE + 10 * times.SECOND
"""From so long after its own time, every write of a message applies its changes: ``LATE``, and 10 s for the write."""
REMEMBERED = 10_000

Reason = Failure | FollowUpUnavailable


class MessagesOnly:
    """Calls a hook with the messages, and not with their changes."""

    def __init__(self, hook: AfterStore) -> None:
        self._hook = hook

    def after_store(self, stream: Stream, items: Sequence[Item]) -> Sequence[Reason | None]:
        if not any(CHANGE in item for item in items):
            return self._hook.after_store(stream, items)
        messages = [item for item in items if not is_change(item)]
        outcomes = iter(self._hook.after_store(stream, messages) if messages else ())
        return [None if is_change(item) else next(outcomes) for item in items]


class ChangeCheck:
    """Chat's hook before rows are stored. ``messages`` is the hook of messages."""

    def __init__(
        self,
        messages: BeforeStore,
        rights: ChangeRights,
        store: ChangeStore,
        attachments: Callable[[], Attachments],
        rooms: CachedRooms,
        clock: Clock,
    ) -> None:
        self._attachments = attachments
        self._messages = messages
        self._rights = rights
        self._store = store
        self._rooms = rooms
        self._clock = clock
        self._reactions = ReactionCounts(store, clock)

    def before_store(self, items: Sequence[Item]) -> tuple[Sequence[Item], Mapping[int, Failure]]:
        messages = [item for item in items if CHANGE not in item]
        allowed, refused = self._messages.before_store(messages)
        if len(messages) == len(items) and not any(STORED_AT in item for item in allowed):
            return allowed, refused
        places = [index for index, item in enumerate(items) if CHANGE not in item]
        found: dict[int, Failure] = {places[index]: reason for index, reason in refused.items()}
        found |= self._unchecked(items)
        self._limit([item for item in items if item.get(CHANGE, DELETE) != DELETE])
        found |= self._with_changes({index: items[index] for index in places if index not in found})
        return [item for index, item in enumerate(items) if index not in found], found

    def _unchecked(self, items: Sequence[Item]) -> dict[int, Failure]:
        """The changes that may not be stored, of those that could not be checked when they were accepted."""
        refused: dict[int, Failure] = {}
        for index, item in enumerate(items):
            if CHANGE in item and UNCHECKED in item:
                at, is_trusted = times.micros_of(item.pop(UNCHECKED)), item.pop(TRUSTED)
                room_id, key = message_of(item)
                given = {name: item[name] for name in (CHANGE, "changedBy", VALUE) if name in item}
                change = {"roomId": room_id, "key": key, **given}
                try:
                    item["by"] = self._rights.by(change, at, is_trusted=is_trusted)
                except StoreUnavailable as error:
                    refused[index] = error
                except Conflict:
                    item["by"] = AUTHOR  # deleted meanwhile: the hook forgets this change too
                except UserError:
                    refused[index] = PoisonRecord("not_allowed")
        return refused

    def _limit(self, changes: Sequence[Item]) -> None:
        """Let edits and reactions expire with their messages. The row of a deletion has no text, and stays longer."""
        places = [message_of(item) for item in changes]
        found = self._rooms.retentions_if_possible({room_id for room_id, _ in places}) if places else {}
        for item, (room_id, key) in zip(changes, places, strict=True):
            found[room_id].limit(item, keys.time_of(key), self._clock.now())

    def _with_changes(self, messages: Mapping[int, Item]) -> dict[int, Failure]:
        """Give late messages their changes. Those whose changes cannot be read are not stored yet."""
        late = {index: item for index, item in messages.items() if STORED_AT in item}
        refused: dict[int, Failure] = {}
        try:
            changed = self._store.changed_rooms({item["roomId"] for item in late.values()}) if late else set()
            for item in late.values():
                if item["roomId"] in changed:
                    rows = self._store.changes_of(item["roomId"], item["timestampSk"])
                    if (change := fold(item["userId"], rows)) is not None:
                        if change.kind == DELETE and ATTACHMENTS in item:
                            self._attachments().delete(item)
                        change.apply_to(item)
                    if change is None or change.kind != DELETE:
                        self._reactions.give(item)
        except StoreUnavailable as error:
            refused = dict.fromkeys(late, error)
        return refused


class ChangeHook:
    """Chat's hook after rows are stored: applies changes, and publishes the changed messages as live ones.

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
        self._marked: BoundedDict[str, None] = BoundedDict(REMEMBERED)
        """Rooms that are known to be marked as changed."""

    def after_store(self, stream: Stream, items: Sequence[Item]) -> Sequence[Reason | None]:
        outcomes = list(MessagesOnly(self._live).after_store(stream, items))
        due = [at for at, item in enumerate(items) if (STORED_AT in item or CHANGE in item) and outcomes[at] is None]
        late = {items[at]["roomId"] for at in due if not is_change(items[at])}
        try:
            changed = self._store.changed_rooms(late) if late else set()
        except StoreUnavailable as error:
            failed = _not_applied(error)
            for at in due:
                outcomes[at] = failed
            return outcomes
        rows: list[Item] = []
        messages: dict[tuple[str, str], list[int]] = {}
        for at in due:
            if is_change(items[at]) or items[at]["roomId"] in changed:
                messages.setdefault(message_of(items[at]), []).append(at)
        for (room_id, key), places in messages.items():
            kinds = {items[at].get(CHANGE) for at in places}
            applied = self._apply(room_id, key, kinds, rows)
            for at in places:
                outcomes[at] = applied or (self._unsettled(key) if is_change(items[at]) else None)
        if rows and not self._live.push(rows, hides_earlier=True):
            self._find_again(rows)
        return outcomes

    def _find_again(self, rows: Sequence[Item]) -> None:
        """Let the next check of each client find messages whose changes are in no log (``UNLOGGED``)."""
        try:
            for row in rows:
                self._store.set_stored(row["roomId"], row["timestampSk"], times.iso(self._clock.now() + UNLOGGED))
        except StoreUnavailable as error:
            report("live copies", f"changes are stored, but clients may see them late: {error.message}")

    def _apply(self, room_id: str, key: str, kinds: set[Kind | None], rows: list[Item]) -> Reason | None:
        """Apply what a message shows after all its changes; ``kinds`` are those that came, ``None``: the message."""
        try:
            if kinds != {None} and room_id not in self._marked:
                self._store.mark_changed(room_id)
                self._marked[room_id] = None
            message = self._store.message(room_id, key)
            if message is None:
                if REACT in kinds:
                    self._reactions.forget_replaced(room_id, key)
                return None
            shown = rows if self._is_kept(message) else []
            if kinds != {REACT}:
                message = self._apply_texts(message, shown)
            if not kinds.isdisjoint({None, REACT}) and (row := self._reactions.apply(message)) is not None:
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

    def _unsettled(self, key: str) -> Reason | None:
        """Why a change of a young message is applied once more: the message could still be stored without it."""
        if self._clock.now() < times.micros_of(keys.time_of(key)) + SETTLED:
            return FollowUpUnavailable("the change is applied again once its message is old enough")
        return None

    def _is_kept(self, row: Item) -> bool:
        """Whether readers may still see a message. Its change may have waited in a lane for days."""
        now = self._clock.now()
        if row["timestamp"] >= times.iso(now - times.DAY):
            return True
        room_id = row["roomId"]
        return bool(row["timestamp"] >= self._rooms.retentions([room_id])[room_id].kept_from(now))


def _not_applied(error: StoreUnavailable) -> Reason:
    report("changes", f"changes of messages are stored, but not applied yet: {error.message}")
    if isinstance(error, StoreThrottled):
        return error  # spends no try
    return FollowUpUnavailable("the changes of a message could not be applied")
