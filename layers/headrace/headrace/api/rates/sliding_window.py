"""Decides the rate limit of one sender, without I/O: a sliding window of counts with hysteresis.

A :class:`SlidingWindow` counts the events that were admitted in the last ``Limit.seconds``. When they reach
``Limit.most``, the window closes: it admits nothing until it holds ``Limit.resume_below`` events or fewer. Refused
events are not counted, so retries do not extend the wait.

Events are counted by slot, a quarter of a second of the system clock. A slot leaves the window when its end is
``Limit.seconds`` old. So events leave up to a slot late, never early, and no interval of that length holds more than
``most`` events. Environments share slots: their clocks should agree to about a slot.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

WINDOW_SECONDS = 5.0
SLOT_SECONDS = 0.25
RESUME_PERCENT = 50
"""A caller over a limit is refused until the window has this share of it, and not one event at a time."""
SHARES = 32
"""An environment asks for the counts of the others after it admitted one of so many shares of a limit. So together,
16 environments admit at most half of the limit more."""
SLOTS = int(WINDOW_SECONDS / SLOT_SECONDS)
"""Whole slots in the longest window."""


@dataclass(frozen=True, slots=True)
class Limit:
    """``rate`` events/s on average over a window. Once reached, the window opens at ``RESUME_PERCENT`` of it."""

    rate: float
    seconds: float = WINDOW_SECONDS
    """The length of the window: at most ``WINDOW_SECONDS``, because the shared counts are kept for these."""

    @property
    def most(self) -> int:
        """Events that one window may hold."""
        return int(self.rate * self.seconds)

    @property
    def slots(self) -> int:
        """Whole slots in a window. The one before them counts too, until its end has left the window."""
        return int(self.seconds / SLOT_SECONDS)

    @property
    def resume_below(self) -> int:
        """Events in the window at which a closed window opens; fewer than ``most``."""
        return min(self.most * RESUME_PERCENT // 100, self.most - 1)

    @property
    def share(self) -> int:
        """Events that one environment may admit before it asks for the counts of the others."""
        return self.most // SHARES


@dataclass(frozen=True, slots=True)
class Counts:
    """Events of one sender by slot, and the slot in which its window opens (the current or a past one: it is open)."""

    events: Mapping[int, int]
    resume_slot: int


class SlidingWindow:
    """The recent events of one sender: admitted by this environment, and known from the others.

    Not thread-safe. Times are seconds of the system clock.
    """

    __slots__ = (
        "_local",
        "_most",
        "_others",
        "_reported",
        "_resume_below",
        "_sent",
        "_slot",
        "_slots",
        "_total",
        "resume_slot",
        "unreported",
    )

    def __init__(self, limit: Limit) -> None:
        self._most, self._resume_below, self._slots = limit.most, limit.resume_below, limit.slots
        self.unreported = 0
        """Events that were admitted here and that the other environments do not know."""
        self.resume_slot = 0
        """The slot in which a closed window opens."""
        self._local: dict[int, int] = {}
        self._others: dict[int, int] = {}
        self._sent: dict[int, int] = {}
        self._reported: dict[int, int] = {}
        """``_local`` as it was when :meth:`report` was last called, and when it last succeeded."""
        self._slot = 0
        self._total = 0

    def admit(self, events: int, now: float) -> int:
        """Count as many of ``events`` as may pass, and return how many. The window closes if not all of them may."""
        slot = int(now / SLOT_SECONDS)
        if slot != self._slot:
            self._recount(slot)
        if slot < self.resume_slot:
            return 0
        admitted = max(0, min(events, self._most - self._total))
        if admitted:
            self._local[slot] = self._local.get(slot, 0) + admitted
            self._total += admitted
            self.unreported += admitted
        if admitted < events:
            self._close()
        return admitted

    def give_back(self, admitted: int, at: float) -> int:
        """Give back what is over the limit of the events that were ``admitted`` at a time; returns how many.

        The next report takes them from the counts that the other environments know.
        """
        over = min(admitted, self._total - self._most)
        slot = int(at / SLOT_SECONDS)
        if over <= 0 or slot not in self._local:
            return 0
        self._local[slot] -= over
        self._total -= over
        self.unreported -= over
        self._close()
        return over

    def remaining(self, now: float) -> int:
        """Events that may pass now, by the known counts; 0 if the window is closed."""
        slot = int(now / SLOT_SECONDS)
        if slot != self._slot:
            self._recount(slot)
        return 0 if slot < self.resume_slot else max(0, self._most - self._total)

    def wait(self, now: float) -> float:
        """Seconds until a closed window opens, by the known counts; 0 if it is open."""
        return max(0.0, self.resume_slot * SLOT_SECONDS - now)

    def report(self, now: float) -> Counts:
        """Counts that the other environments do not know. Every report contains them until :meth:`learn` is called."""
        self._recount(int(now / SLOT_SECONDS))
        self._sent = dict(self._local)
        unknown = {slot: events - self._reported.get(slot, 0) for slot, events in self._sent.items()}
        return Counts({slot: events for slot, events in unknown.items() if events}, self.resume_slot)

    def learn(self, everywhere: Counts, now: float) -> None:
        """Use the counts of all environments, which include the last report."""
        self._reported = self._sent
        self._others = {slot: events - self._sent.get(slot, 0) for slot, events in everywhere.events.items()}
        slot = int(now / SLOT_SECONDS)
        self._recount(slot)
        if max(self.resume_slot, everywhere.resume_slot) > slot or self._total > self._most:
            self._close()

    def _recount(self, slot: int) -> None:
        """Advance to ``slot``: drop the slots that left the window, and add up the others."""
        # abs(): after the clock was set back, slots far in the future do not count.
        self._local = {at: events for at, events in self._local.items() if abs(slot - at) <= self._slots}
        others = self._others.items()
        self._others = {at: events for at, events in others if abs(slot - at) <= self._slots and events > 0}
        here = sum(self._local.values())
        self._total = here + sum(self._others.values())
        self.unreported = here - sum(self._reported.get(at, 0) for at in self._local)
        if self.resume_slot > slot + 2 * self._slots:
            self.resume_slot = 0
        self._slot = slot

    def _close(self) -> None:
        """Set ``resume_slot`` to the slot in which few enough events are left."""
        left, self.resume_slot = self._total, 0
        for slot, events in sorted((Counter(self._local) + Counter(self._others)).items()):
            if left <= self._resume_below:
                break
            left -= events
            self.resume_slot = slot + self._slots + 1
