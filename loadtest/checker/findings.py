"""Compares the answers to queries about a stream with what was sent."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

EXAMPLES = 5
"""The number of wrong answers to print."""

Answer = TypeVar("Answer")


@dataclass
class Findings:
    """The comparison so far; safe to share between threads.

    ``lost`` events were accepted and are in no answer. ``unexpected`` events were not sent, or are in an answer twice.
    ``wrong`` has a sentence for each answer that differs.
    """

    stored: int = 0
    lost: int = 0
    unexpected: int = 0
    wrong: list[str] = field(default_factory=list)
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


def settled(ask: Callable[[], Answer], expected: Answer, patience: float) -> Answer:
    """Ask once a second until the answer is ``expected`` or ``patience`` seconds are over; return the last answer."""
    deadline = time.monotonic() + patience
    while (found := ask()) != expected and time.monotonic() < deadline:
        time.sleep(1.0)
    return found


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 120 else f"{text[:119]}…"
