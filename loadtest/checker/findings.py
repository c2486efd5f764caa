"""What the answers to all questions about a stream said, beside what was sent."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

EXAMPLES = 5
"""So many wrong answers are shown."""

Answer = TypeVar("Answer")


@dataclass
class Findings:
    """What the answers said; safe to share between threads.

    ``lost`` events were accepted and are in no answer, ``unexpected`` were never sent or are told twice. ``wrong``
    answers are those that differ at all.
    """

    asked: Counter[str] = field(default_factory=Counter)
    stored: int = 0
    lost: int = 0
    unexpected: int = 0
    wrong: list[str] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def check(self, question: str, subject: str, found: Any, expected: Any) -> None:
        """Note one answer."""
        with self._lock:
            self.asked[question] += 1
            if found != expected:
                self.wrong.append(f"{question} {subject}: {_short(found)} instead of {_short(expected)}")

    def account(self, found: Counter[Any], expected: Counter[Any]) -> None:
        """Note the events of one subject; subjects share no event."""
        with self._lock:
            self.stored += (found & expected).total()
            self.lost += (expected - found).total()
            self.unexpected += (found - expected).total()

    @property
    def kept(self) -> bool:
        """Whether every answer was right."""
        return not (self.lost or self.unexpected or self.wrong)


def settled(
    ask: Callable[[], Answer], expected: Answer, patience: float, pause: Callable[[float], object] = time.sleep
) -> Answer:
    """The answer, once it is ``expected`` or ``patience`` seconds are over; asked once a second."""
    deadline = time.monotonic() + patience
    while (found := ask()) != expected and time.monotonic() < deadline:
        pause(1.0)
    return found


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 120 else f"{text[:119]}…"
