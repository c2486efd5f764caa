"""Hooks after messages are stored: the logs of rooms, live copies, and the last activity of rooms.

Live copies are published to the exchange ``headrace.live``, for push_live. They are best effort: only history is
complete. The messages of a room in a batch are one live copy (several beyond 32 KB). All live copies of a room go
through one queue, so that their order is preserved. Each names the one before, so that clients see if one is missing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from headrace.core import times
from headrace.core.collections import BoundedDict
from headrace.core.errors import StoreThrottled, StoreUnavailable
from headrace.core.items import Item
from headrace.core.json import encoded_list
from headrace.core.times import Clock, iso
from headrace.live.frames import frame, split
from headrace.live.hints import SOME, SubscriberHints
from headrace.queues.names import live_queue
from headrace.queues.ports import LivePublisher, Outgoing
from headrace.runtime.breaker import Cooldown
from headrace.runtime.observability import logger, report, report_unexpected
from headrace.runtime.threads import Parallel
from headrace.storage.ports import Failure
from headrace.streams.chat.messages.positions import STORED_AT, mark_unlogged, new_tag, position
from headrace.streams.chat.messages.redis import RoomLog
from headrace.streams.chat.messages.room_log import Appended, Batch, LoggedFrame, append
from headrace.streams.chat.room_shards import shard_count
from headrace.streams.chat.rooms.dynamodb import RoomTable
from headrace.streams.chat.rooms.retention import Retention
from headrace.streams.chat.rooms.rooms import CachedRooms, first_room
from headrace.streams.chat.stream import item_of

REMEMBERED = 10_000
"""Rooms of which a hook remembers that live copies were missed, or the last stored second: about 1 MB."""
NOTICES = 100
"""Rooms whose listeners get a notice of missed messages with one batch, after the broker was unavailable."""
UPDATES_AT_ONCE = 8
SECOND = len("2025-11-21T10:00:58")
"""Characters of a time that is cut to its second."""


class LiveHook:
    """Appends messages to the logs of their rooms, and publishes live copies. A failure of both fails no event.

    Messages that cannot be appended get the mark of messages in no log, by ``set_stored(room_id, key, at)``.
    ``publisher`` is called for the first copies, so that its library is imported only then.
    """

    def __init__(
        self,
        log: RoomLog,
        hints: SubscriberHints,
        publisher: Callable[[], LivePublisher],
        clock: Clock,
        set_stored: Callable[[str, str, str], None],
    ) -> None:
        self._log = log
        self._hints = hints
        self._publisher = publisher
        self._clock = clock
        self._set_stored = set_stored
        self._parallel = Parallel(UPDATES_AT_ONCE, "marks")
        self._missed: BoundedDict[str, None] = BoundedDict(REMEMBERED)
        """Rooms whose last live copies were not published. Their next ones say so, or an empty frame."""
        self._quiet: BoundedDict[str, None] = BoundedDict(REMEMBERED)
        """Rooms that had no subscribers at their last messages. Their next ones are appended without their items."""

    def room_of(self, item: Item) -> str:
        """The room of a row."""
        return str(item["roomId"])

    def item_of(self, item: Item) -> Mapping[str, Any]:
        """What subscribers see of a row."""
        return item_of(item)

    def after_store(self, items: Sequence[Item]) -> Sequence[Failure | None]:
        return [None] * len(items) if self.push(items) else self.mark(items)

    def mark(self, items: Sequence[Item]) -> Sequence[Failure | None]:
        """Let the next check of each client find messages that are in no log; the failure of each."""
        marked = mark_unlogged(items, self._clock.now())
        outcomes = dict(zip(map(id, marked), self._parallel.map(self._mark, marked), strict=True))
        return [outcomes.get(id(item)) for item in items]

    def _mark(self, item: Item) -> StoreUnavailable | None:
        try:
            self._set_stored(item["roomId"], item["timestampSk"], item[STORED_AT])
        except StoreUnavailable as error:
            report("live copies", f"messages are stored, but clients may see them late: {error.message}")
            return error
        return None

    def push(self, items: Sequence[Item], *, hides_earlier: bool = False) -> bool:
        """Append messages and publish live copies of them; returns whether they are in the logs. Never raises.

        With ``hides_earlier``, the logs of their rooms begin again behind them, and keep no earlier text of them. What
        has expired, such as an old message of a room with few days, is not pushed.
        """
        seconds = self._clock.now() // times.SECOND
        shown = [item for item in items if item.get("expiresAt", seconds + 1) > seconds]
        try:
            return self._publish(shown, hides_earlier) if shown else True
        except Exception as error:  # noqa: BLE001 - reported; a live copy never sends an event back to its lane
            report_unexpected(error)
        return False

    def _publish(self, items: Sequence[Item], hides_earlier: bool) -> bool:
        """Append and publish; returns whether the messages are in the logs."""
        now = self._clock.now()
        rooms: dict[str, dict[str, Item]] = {}
        for item in items:
            rooms.setdefault(self.room_of(item), {})[item["timestampSk"]] = item
        news = {
            room_id: _News.of(self.item_of, room_id, rows.values(), is_quiet=room_id in self._quiet)
            for room_id, rows in rooms.items()
        }
        batches = {
            room_id: Batch(each.tags[-1]) if hides_earlier else each.batch(now) for room_id, each in news.items()
        }
        appended = append(self._log, batches, "pages of rooms with new messages may be 2 s old")
        followed = self._hints.rooms_with_subscribers(
            {room_id: appended[room_id].mark if appended else SOME for room_id in rooms}
        )
        for room_id in rooms.keys() - followed.keys():
            self._quiet[room_id] = None
        messages = [
            Outgoing(live_queue(room_id), body, logger.get_correlation_id() or "")
            for room_id, mark in followed.items()
            for body in self._copies(room_id, news[room_id], now, appended.get(room_id), mark)
        ]
        silent = [room_id for room_id in islice(self._missed, NOTICES) if room_id not in followed]
        messages += [Outgoing(live_queue(room_id), frame(room_id, [], missed=True), "") for room_id in silent]
        failure = self._publisher().publish(messages) if messages else None
        if failure is not None:
            report("live copies", f"stored messages are not pushed: {failure.message}")
        for room_id in followed:
            self._quiet.pop(room_id, None)
        for room_id in [*followed, *silent]:
            if failure is not None:
                self._missed[room_id] = None
            else:
                self._missed.pop(room_id, None)
        return bool(appended)

    def _copies(self, room_id: str, news: _News, now: int, appended: Appended | None, mark: str) -> Iterable[bytes]:
        """The live copies; without ``appended``, they say nothing about what comes before them."""
        tagged = news.tagged()
        missed = room_id in self._missed or not news.is_complete
        # With ``missed`` it follows nothing, because no log may have what is missing.
        follows = () if appended is None or missed else (appended.follows,)
        for tag, part in tagged:
            at = position(now, "" if appended is None else tag)
            yield frame(room_id, part, at, follows, missed=missed, mark=mark)
            missed, follows = False, () if appended is None else (tag,)


@dataclass(slots=True)
class _News:
    """The new items of a room as JSON, in parts of one frame each, with the tags of these frames."""

    item_of: Callable[[Item], Mapping[str, Any]]
    room_id: str
    rows: Iterable[Item]
    parts: list[list[str]]
    is_complete: bool
    tags: list[str]

    @classmethod
    def of(
        cls, item_of: Callable[[Item], Mapping[str, Any]], room_id: str, rows: Iterable[Item], *, is_quiet: bool
    ) -> _News:
        """The items of ``rows``; those of a quiet room are made when they are needed."""
        parts, is_complete = ([], True) if is_quiet else split(room_id, map(item_of, rows))
        return cls(item_of, room_id, rows, parts, is_complete, [new_tag() for _ in parts or [[]]])

    def batch(self, now: int) -> Batch:
        """What is appended to the log. No reader takes part of a batch, so one with a missing item has no frames."""
        frames = [LoggedFrame(tag, now, encoded_list(part)) for tag, part in zip(self.tags, self.parts, strict=False)]
        return Batch(self.tags[-1], frames if self.is_complete else [])

    def tagged(self) -> Iterable[tuple[str, list[str]]]:
        """Each part with its tag. The last tag is the one of the batch."""
        if not self.parts:
            self.parts, self.is_complete = split(self.room_id, map(self.item_of, self.rows))
        parts = self.parts or [[]]
        return zip([*(new_tag() for _ in parts[len(self.tags) :]), *self.tags], parts, strict=True)


class ActivityHook:
    """Updates the last activity of rooms: at most one conditional write per room, second and environment.

    The order of a user's rooms depends on this write. If it fails, the newest message of the batch in that room fails
    with it, and the retry lane repeats both. Without that, the order would be wrong until the room's next message.

    The write tells how long the room keeps messages, so that no room is read for it. Messages that were stored before
    that was known get their expiry by ``set_expiry(room_id, key, seconds)``.
    """

    def __init__(
        self,
        activity: RoomTable,
        rooms: CachedRooms,
        set_expiry: Callable[[str, str, int], None],
        clock: Clock,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._activity = activity
        self._rooms = rooms
        self._set_expiry = set_expiry
        self._clock = clock
        self._seconds: BoundedDict[str, str] = BoundedDict(REMEMBERED)
        self._cooldown = Cooldown(monotonic)
        self._parallel = Parallel(UPDATES_AT_ONCE, "activity")

    def after_store(self, items: Sequence[Item]) -> Sequence[Failure | None]:
        outcomes: list[Failure | None] = [None] * len(items)
        newest: dict[str, int] = {}
        for at, item in enumerate(items):
            room_id = item["roomId"]
            if item["timestampSk"] >= items[newest.get(room_id, at)]["timestampSk"]:
                newest[room_id] = at
        due = [at for room_id, at in newest.items() if _second(items[at]) > self._seconds.get(room_id, "")]
        for at, raised in zip(due, self._parallel.map(self._raise, [items[at] for at in due]), strict=True):
            outcomes[at] = self._settle(items[at], raised)
        raised_rooms = {items[at]["roomId"] for at in due}
        for at, item in enumerate(items):
            if item["roomId"] in raised_rooms and outcomes[at] is None:
                outcomes[at] = self._limit(item)
        return outcomes

    def _limit(self, item: Item) -> StoreUnavailable | None:
        """Let a stored message expire as its room says, if that was not known before."""
        if self._rooms.known_retention(item["roomId"]).limit(item, item["timestamp"], self._clock.now()):
            try:
                self._set_expiry(item["roomId"], item["timestampSk"], item["expiresAt"])
            except StoreUnavailable as error:
                report("retention", f"messages are stored, but expire later than their rooms say: {error.message}")
                return error
        return None

    def _raise(self, item: Item) -> Retention | StoreUnavailable | None:
        if self._cooldown.is_active:
            return StoreUnavailable("the rooms were unavailable a moment ago")
        try:
            return self._activity.raise_to(item["roomId"], item["timestampSk"])
        except StoreUnavailable as error:
            if not isinstance(error, StoreThrottled):
                self._cooldown.start()
            return error

    def _settle(self, item: Item, raised: Retention | StoreUnavailable | None) -> StoreUnavailable | None:
        """The outcome of an item. A missing room is created: a trusted sender's message may be stored before it.

        No message creates a room with shards.
        """
        try:
            if raised is None and shard_count(item["roomId"]) == 1:
                self._rooms.create(first_room(item["roomId"], iso(self._clock.now()), item["userId"]))
                raised = self._raise(item)
        except StoreUnavailable as error:
            raised = error
        if isinstance(raised, StoreUnavailable):
            report("last activity", f"messages are stored, but their rooms' activity is not: {raised.message}")
            return raised
        self._seconds[item["roomId"]] = _second(item)
        if raised is not None:
            self._rooms.learn(item["roomId"], raised)
        return None


def _second(item: Item) -> str:
    return str(item["timestampSk"][:SECOND])
