"""Events that callers wait for, and their results."""

from __future__ import annotations

import asyncio
import concurrent.futures
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .errors import TEMPORARY, NotAccepted, RateLimited, Refused, Unavailable
from .types import Error

Event = dict[str, Any]
Result = dict[str, Any]


@dataclass(frozen=True)
class Sent:
    """The result of one event: the ``lane`` that accepted it, or the ``error`` (code, message, …).

    ``event`` is the event as it was sent, with its id and time. ``seconds`` is the time until its last answer.
    """

    event: Event
    lane: str | None = None
    error: Error | None = None
    seconds: float = 0.0

    @property
    def is_accepted(self) -> bool:
        """Whether the event was accepted."""
        return self.error is None


Answer = asyncio.Future[list[Sent]] | concurrent.futures.Future[list[Sent]]


class Call:
    """The events of one caller, whose ``answer`` gets one :class:`Sent` for each. It began at ``now``.

    Raises:
        TypeError, ValueError: an event cannot be written as JSON.
    """

    def __init__(self, events: Sequence[Event], answer: Answer, now: float) -> None:
        self.answer = answer
        self.left = dict(enumerate(events))
        """The events without a result, by their place."""
        self.sizes = [len(json.dumps(event)) + 2 for event in events]
        self.give_up_at: float | None = None
        self.is_alone = False
        """Whether it shares no requests, because one that it shared failed: that may be the fault of an event."""
        self._began = now
        self._sent: dict[int, Sent] = {}
        self._answer_if_done()

    def settle(self, place: int, result: Result, now: float) -> None:
        """Take the last result of an event."""
        error = result.get("error") or None
        lane = None if error else str(result.get("lane", ""))
        self._sent[place] = Sent(self.left.pop(place), lane, error, now - self._began)
        self.give_up_at = None
        self._answer_if_done()

    def end(self, result: Result, now: float) -> None:
        """Give this result to all events that are left."""
        for place in [*self.left]:
            self.settle(place, result, now)

    def fail(self, error: Exception) -> None:
        """Raise ``error`` for the caller."""
        if not self.answer.done():
            self.answer.set_exception(error)

    def _answer_if_done(self) -> None:
        if not self.left and not self.answer.done():
            self.answer.set_result([sent for _, sent in sorted(self._sent.items())])


def checked(sent: list[Sent]) -> list[Sent]:
    """``sent``, if all events were accepted; else raises :class:`NotAccepted`."""
    if all(each.is_accepted for each in sent):
        return sent
    raise NotAccepted(sent)


def failed(error: Unavailable | Refused, count: int) -> list[Result]:
    """The results of ``count`` events whose request failed."""
    if isinstance(error, Refused):
        return [{"error": {"code": error.code, "message": error.message}}] * count
    code = "rate_limited" if isinstance(error, RateLimited) else "unavailable"
    return [{"error": {"code": code, "message": str(error), "retryAfter": error.retry_after}}] * count


def is_temporary(result: Result) -> bool:
    """Whether the event of ``result`` was refused and may be accepted later."""
    error = result.get("error")
    return error is not None and (error.get("code") in TEMPORARY or error.get("retryAfter") is not None)


def retry_after(results: Sequence[Result]) -> float | None:
    """The longest ``retryAfter`` in ``results``, in seconds; ``None`` without one."""
    said = [each["error"]["retryAfter"] for each in results if is_temporary(each) and each["error"].get("retryAfter")]
    return max((float(each) for each in said), default=None)
