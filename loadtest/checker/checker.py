"""Compares what was attempted and acknowledged with what can be read back at the end.

The model is Jepsen's *total-queue*. After everything is drained::

    lost       = acknowledged - read
    unexpected = read - attempted

must both be empty, and no key may be read twice in one walk. An altered text counts as lost and as unexpected. An event
that was attempted and not answered may be stored or not.

The key of an event is (room, user, message id). Its time, text, type, and its username if the sender named one, must be
read back unchanged.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
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


@dataclass(slots=True)
class _Known:
    """An event, what became of it, and how it was read in the last walk."""

    event: ChatEvent
    state: int
    is_read: bool = False
    is_found: bool = False
    """Whether it was read unchanged."""

    @property
    def is_lost(self) -> bool:
        return self.state == ACKNOWLEDGED and not self.is_found


class SendCounts:
    """Counts of what was sent: accepted events by lane, refused and repeated ones by the reason."""

    def __init__(self) -> None:
        self.lanes: Counter[str] = Counter()
        self.errors: Counter[str] = Counter()
        self.retries: Counter[str] = Counter()
        self.reconnections = 0

    def retried(self, reason: str, events: int) -> None:
        """Record that so many events are sent again."""
        self.retries[reason] += events

    def counts(self, attempted: int, accepted: int, refused: int) -> dict[str, Any]:
        """All counts of events: some were ``refused`` permanently, and the rest got no answer."""
        events = {"attempted": attempted, "accepted": accepted, "refused": refused}
        kinds = {"lanes": dict(self.lanes), "errors": dict(self.errors), "retries": dict(self.retries)}
        return {**events, **kinds, "reconnections": self.reconnections}


class Checker(SendCounts):
    """Records one run. Safe to share between threads and greenlets.

    ``reconnections`` counts lost connections. Items of other programs, for which ``left_out`` is true, are not read;
    ``ids_left_out`` has their ids, by room.
    """

    def __init__(
        self, on_accepted: OnAccepted = ignore, left_out: Callable[[Item], bool] = lambda _item: False
    ) -> None:
        super().__init__()
        self._on_accepted = on_accepted
        self._left_out = left_out
        self.ids_left_out: defaultdict[str, set[str]] = defaultdict(set)
        self._lock = threading.Lock()
        self._known: dict[tuple[Any, Any, Any], _Known] = {}
        self._faults: Counter[str] = Counter()
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
            known = self._known[_key(event)]
            with self._lock:
                if known.state != ACKNOWLEDGED:
                    known.state = ACKNOWLEDGED
                    self.lanes[lane] += 1
        self._on_accepted(events, time.perf_counter() - seconds)

    def refused(self, event: ChatEvent, code: str) -> None:
        """Record that ``event`` was refused permanently."""
        known = self._known[_key(event)]
        with self._lock:
            if known.state == ATTEMPTED:
                known.state = REFUSED
            self.errors[code] += 1

    def retried(self, reason: str, events: int) -> None:
        """Record that so many events are sent again."""
        with self._lock:
            super().retried(reason, events)

    def reconnect(self) -> None:
        """Record that a connection is opened again."""
        with self._lock:
            self.reconnections += 1

    def begin_read(self) -> None:
        """Start a new walk of all rooms."""
        for known in self._all():
            known.is_read = known.is_found = False
        self._faults, self._examples = Counter(), {}

    def own(self, items: Iterable[Item]) -> list[Item]:
        """The items of a page that are not left out."""
        found = []
        for item in items:
            if self._left_out(item):
                self.ids_left_out[item["roomId"]].add(item["messageId"])
            else:
                found.append(item)
        return found

    def read(self, item: Item) -> None:
        """Record one item of a history page."""
        known = self._known.get((item.get("roomId"), item.get("userId"), item.get("messageId")))
        if known is None:
            self._fault("unexpected", item)
            return
        if known.is_read:
            self._fault("duplicated", item)
        is_same = _is_same(known.event, item)
        if not is_same:
            self._fault("altered", item)
        known.is_found = is_same or known.is_found
        known.is_read = True

    def disorder(self, item: Item) -> None:
        """Record that ``item`` is out of (time, id) order."""
        self._fault("disordered", item)

    def rooms(self) -> list[str]:
        """Every room with attempts, in order of first use."""
        return list(dict.fromkeys(each.event.room_id for each in self._all()))

    def found_by_room(self) -> Counter[str]:
        """Per room how many of the attempted events the last walk found unchanged."""
        found = Counter[str]()
        for each in self._all():
            found[each.event.room_id] += each.state != PERMITTED and each.is_found
        return found

    def newest(self, count: int) -> dict[str, dict[str, str]]:
        """Per room the ``count`` newest acknowledged events, as message id to timestamp."""
        found = self._by_room(each for each in self._all() if each.state == ACKNOWLEDGED)
        return {
            room: dict(sorted(events.items(), key=lambda each: each[1], reverse=True)[:count])
            for room, events in found.items()
        }

    def missing(self) -> dict[str, dict[str, str]]:
        """Per room the acknowledged events that the last walk did not find, as message id to timestamp."""
        return self._by_room(each for each in self._all() if each.is_lost)

    @staticmethod
    def _by_room(events: Iterable[_Known]) -> dict[str, dict[str, str]]:
        found: defaultdict[str, dict[str, str]] = defaultdict(dict)
        for each in events:
            found[each.event.room_id][each.event.message_id] = each.event.timestamp
        return found

    def verdict(self) -> Verdict:
        """The verdict on the last walk."""
        known = self._all()
        lost = [f"{each.event.room_id}/{each.event.message_id}" for each in known if each.is_lost]
        examples = {**self._examples, **({"lost": lost[:EXAMPLES]} if lost else {})}
        states = Counter(each.state for each in known)
        return Verdict(
            attempted=len(known) - states[PERMITTED],
            accepted=states[ACKNOWLEDGED],
            stored=self.found_by_room().total(),
            lost=len(lost),
            unexpected=self._faults["unexpected"] + self._faults["altered"],
            duplicated=self._faults["duplicated"],
            refused=states[REFUSED],
            unanswered=states[ATTEMPTED],
            disordered=self._faults["disordered"],
            examples={kind: tuple(names) for kind, names in examples.items()},
        )

    def _all(self) -> list[_Known]:
        with self._lock:  # others may send
            return list(self._known.values())

    def _register(self, event: ChatEvent, state: int) -> None:
        with self._lock:
            known = self._known.setdefault(_key(event), _Known(event, state))
            known.state = max(known.state, state)

    def _fault(self, kind: str, item: Item) -> None:
        self._faults[kind] += 1
        names = self._examples.setdefault(kind, [])
        if len(names) < EXAMPLES:
            names.append(f"{item.get('roomId')}/{item.get('messageId')}")


def _key(event: ChatEvent) -> tuple[str, str, str]:
    return event.room_id, event.user_id, event.message_id


def _is_same(event: ChatEvent, item: Item) -> bool:
    username = event.username if event.username is None else item.get("username")
    found = item.get("timestamp"), item.get("message"), item.get("messageType"), username
    return found == (event.timestamp, event.message, event.message_type, event.username)
