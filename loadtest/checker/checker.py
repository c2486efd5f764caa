"""Compares what was attempted and acknowledged with what can be read back at the end.

The model is Jepsen's *total-queue*. After everything is drained::

    lost       = acknowledged - read
    unexpected = read - attempted

must both be empty, and no key may be read twice in one walk. An altered text counts as lost and as unexpected. An event
that was attempted and not answered may be stored or not.

The key of an event is (room, user, message id). Its time, text, type, and its username if the sender named one, must be
read back unchanged. Key and content are stored as 64-bit hashes (the probability of a collision is below 1e-8 in a run
of 200,000), with the room and message id, so that lost events can be named.
"""

from __future__ import annotations

import threading
import time
from array import array
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from loadtest.checker.verdict import Verdict
from loadtest.client.chat_events import ChatEvent

Item = Mapping[str, Any]

PERMITTED, ATTEMPTED, REFUSED, ACKNOWLEDGED = range(4)
EXAMPLES = 5

OnAccepted = Callable[[Sequence[Any], float], object]
"""Called with accepted events and when they were first sent or due, a time of ``time.perf_counter``."""


def ignore(_events: Sequence[Any], _sent: float) -> None:
    """Do nothing about accepted events."""


class Checker:
    """Records one run. Safe to share between threads and greenlets.

    ``retries`` counts events that were sent again, by the reason. ``reconnections`` counts lost connections.
    """

    def __init__(self, on_accepted: OnAccepted = ignore) -> None:
        self._on_accepted = on_accepted
        self.lanes: Counter[str] = Counter()
        self.errors: Counter[str] = Counter()
        self.retries: Counter[str] = Counter()
        self.reconnections = 0
        self._lock = threading.Lock()
        self._slots: dict[int, int] = {}
        self._contents = array("q")
        self._states = bytearray()
        self._named = bytearray()
        self._reads = bytearray()
        self._rooms: list[str] = []
        self._ids: list[str] = []
        self._times: list[str] = []
        self._unexpected = 0
        self._duplicated = 0
        self._disordered = 0
        self._examples: dict[str, list[str]] = {}

    def permit(self, event: ChatEvent) -> None:
        """Record that ``event`` may be in the room from an earlier run. It does not count as an attempt."""
        self._register(event, PERMITTED)

    def attempted(self, events: Sequence[ChatEvent]) -> None:
        """Record events before their first send. Repeating it has no effect."""
        for event in events:
            self._register(event, ATTEMPTED)

    def accepted(self, events: Sequence[ChatEvent], lanes: Sequence[str], seconds: float) -> None:
        """Record events that were accepted together, ``seconds`` after they were sent or due.

        Repeating it has no effect on the counts.
        """
        for event, lane in zip(events, lanes, strict=True):
            slot = self._slots[_key(event.room_id, event.user_id, event.message_id)]
            with self._lock:
                if self._states[slot] != ACKNOWLEDGED:
                    self._states[slot] = ACKNOWLEDGED
                    self.lanes[lane] += 1
        self._on_accepted(events, time.perf_counter() - seconds)

    def refused(self, event: ChatEvent, code: str) -> None:
        """Record that ``event`` was refused permanently."""
        slot = self._slots[_key(event.room_id, event.user_id, event.message_id)]
        with self._lock:
            if self._states[slot] == ATTEMPTED:
                self._states[slot] = REFUSED
            self.errors[code] += 1

    def retried(self, reason: str, events: int) -> None:
        """Record that so many events are sent again."""
        with self._lock:
            self.retries[reason] += events

    def reconnect(self) -> None:
        """Record that a connection is opened again."""
        with self._lock:
            self.reconnections += 1

    def begin_read(self) -> None:
        """Start a new walk of all rooms."""
        self._reads = bytearray(len(self._states))
        self._unexpected = self._duplicated = self._disordered = 0
        self._examples = {}

    def read(self, item: Item) -> None:
        """Record one item of a history page."""
        slot = self._slots.get(_key(item.get("roomId"), item.get("userId"), item.get("messageId")))
        if slot is None:
            self._unexpected += 1
            self._example("unexpected", item)
            return
        reads = self._reads[slot]
        if reads:
            self._duplicated += 1
            self._example("duplicated", item)
        if not self._same(slot, item):
            self._unexpected += 1
            self._example("altered", item)
            self._reads[slot] = reads or 2
        else:
            self._reads[slot] = 1

    def disorder(self, item: Item) -> None:
        """Record that ``item`` is out of (time, id) order."""
        self._disordered += 1
        self._example("disordered", item)

    def rooms(self) -> list[str]:
        """Every room with attempts, in order of first use."""
        return list(dict.fromkeys(self._rooms))

    def found_by_room(self) -> Counter[str]:
        """Per room how many of the attempted events the last walk found unchanged."""
        found = Counter[str]()
        for slot, room in enumerate(self._rooms):
            found[room] += self._states[slot] != PERMITTED and slot < len(self._reads) and self._reads[slot] == 1
        return found

    def newest(self, count: int) -> dict[str, dict[str, str]]:
        """Per room the ``count`` newest acknowledged events, as message id to timestamp."""
        by_room: dict[str, list[int]] = {}
        for slot, state in enumerate(self._states):
            if state == ACKNOWLEDGED:
                by_room.setdefault(self._rooms[slot], []).append(slot)
        return {
            room: {
                self._ids[slot]: self._times[slot]
                for slot in sorted(slots, key=self._times.__getitem__, reverse=True)[:count]
            }
            for room, slots in by_room.items()
        }

    def missing(self) -> dict[str, dict[str, str]]:
        """Per room the acknowledged events that the last walk did not find, as message id to timestamp."""
        found: dict[str, dict[str, str]] = {}
        for slot in self._lost():
            found.setdefault(self._rooms[slot], {})[self._ids[slot]] = self._times[slot]
        return found

    def verdict(self) -> Verdict:
        """The verdict on the last walk."""
        lost = self._lost()
        examples: dict[str, Sequence[str]] = {kind: tuple(names) for kind, names in self._examples.items()}
        if lost:
            examples["lost"] = tuple(f"{self._rooms[slot]}/{self._ids[slot]}" for slot in lost[:EXAMPLES])
        states = Counter(self._states)
        return Verdict(
            attempted=len(self._states) - states[PERMITTED],
            accepted=states[ACKNOWLEDGED],
            stored=sum(1 for slot, reads in enumerate(self._reads) if reads == 1 and self._states[slot] != PERMITTED),
            lost=len(lost),
            unexpected=self._unexpected,
            duplicated=self._duplicated,
            refused=states[REFUSED],
            unanswered=states[ATTEMPTED],
            disordered=self._disordered,
            examples=examples,
        )

    def _lost(self) -> list[int]:
        return [
            slot
            for slot, state in enumerate(self._states)
            if state == ACKNOWLEDGED and (slot >= len(self._reads) or self._reads[slot] != 1)
        ]

    def _register(self, event: ChatEvent, state: int) -> None:
        key = _key(event.room_id, event.user_id, event.message_id)
        with self._lock:
            slot = self._slots.get(key)
            if slot is not None:
                self._states[slot] = max(self._states[slot], state)
                return
            self._slots[key] = len(self._states)
            self._contents.append(hash((event.timestamp, event.message, event.message_type, event.username)))
            self._states.append(state)
            self._named.append(event.username is not None)
            self._reads.append(0)
            self._rooms.append(event.room_id)
            self._ids.append(event.message_id)
            self._times.append(event.timestamp)

    def _same(self, slot: int, item: Item) -> bool:
        username = item.get("username") if self._named[slot] else None
        return self._contents[slot] == _content(item, username)

    def _example(self, kind: str, item: Item) -> None:
        names = self._examples.setdefault(kind, [])
        if len(names) < EXAMPLES:
            names.append(f"{item.get('roomId')}/{item.get('messageId')}")


def _content(item: Item, username: str | None) -> int:
    return hash((item.get("timestamp"), item.get("message"), item.get("messageType"), username))


def _key(room: str | None, user: str | None, message_id: str | None) -> int:
    return hash((room, user, message_id))
