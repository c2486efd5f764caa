"""What reading back found, and the comparison of answers with what was sent."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

EXAMPLES = 5
"""The number of wrong answers to print."""

FAULTS = ("lost", "unexpected", "duplicated", "disordered", "wrong", "waiting")
"""The counts of :class:`Findings` that must be 0."""

Answer = TypeVar("Answer")


@dataclass
class Findings:
    """The comparison so far; safe to share between threads. Counts are of events.

    ``stored`` ones were sent and are read back unchanged. ``lost`` ones were accepted and are in no answer.
    ``unexpected`` ones were not sent, or are in an answer twice. ``disordered`` ones are out of (time, id) order.
    ``waiting`` ones are not stored, and the lanes still hold as many. ``wrong`` has a sentence for each answer that
    differs, and ``examples`` name a few of each fault. ``at`` is the time of ``time.monotonic`` when everything could
    be read.
    """

    stored: int = 0
    lost: int = 0
    unexpected: int = 0
    duplicated: int = 0
    disordered: int = 0
    waiting: int = 0
    wrong: list[str] = field(default_factory=list)
    examples: Mapping[str, Sequence[str]] = field(default_factory=dict)
    at: float = 0.0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def check(self, query: str, subject: str, found: Any, expected: Any) -> None:
        """Compare one answer."""
        with self._lock:
            if found != expected:
                self.wrong.append(f"{query} {subject}: {_short(found)} instead of {_short(expected)}")

    def account(self, found: Counter[Any], expected: Counter[Any]) -> None:
        """Compare the events of one subject. No event belongs to two subjects."""
        with self._lock:
            self.stored += (found & expected).total()
            self.lost += (expected - found).total()
            self.unexpected += (found - expected).total()

    def counts(self) -> dict[str, int]:
        """What was stored, and each of ``FAULTS``."""
        numbers = {name: getattr(self, name) for name in ("stored", *FAULTS)}
        return {**numbers, "wrong": len(self.wrong)}


def settled(ask: Callable[[], Answer], expected: Answer, patience: float) -> Answer:
    """Ask once a second until the answer is ``expected`` or ``patience`` seconds are over; return the last answer."""
    deadline = time.monotonic() + patience
    while (found := ask()) != expected and time.monotonic() < deadline:
        time.sleep(1.0)
    return found


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 120 else f"{text[:119]}…"
