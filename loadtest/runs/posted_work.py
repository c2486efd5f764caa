"""What a phase of rides and one of clicks have in common: events are posted, and all questions about them are asked."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Any, ClassVar, TypeVar

from loadtest.checker.durability_probe import Look
from loadtest.checker.findings import Findings
from loadtest.checker.readback import WAITING_WITHIN, await_none
from loadtest.client.credentials import Sender
from loadtest.client.target import Target
from loadtest.measured.measurements import Measurements
from loadtest.runs.place import Place
from loadtest.runs.work import OPERATOR, Work
from loadtest.sending.delivery import CountedEvents, SentEvent
from loadtest.sending.queries import CLIENTS, PATIENCE, Queries
from loadtest.sending.queue_depths import Lanes
from loadtest.shapes.shape import Phase
from localstage.client.errors import HttpError
from localstage.client.http_api import HttpApi

Event = TypeVar("Event", bound=SentEvent)
SCOPE = "analytics:read"
NEWEST = 50
"""How many of the newest events are waited for, before everything is read."""


class PostedWork(Work, CountedEvents[Event], ABC):
    """One worker's events of a phase. ``before`` is the phase before, if any."""

    user: ClassVar[str]

    def __init__(self, target: Target, phase: Phase, place: Place, measurements: Measurements, before: Any) -> None:
        CountedEvents.__init__(self, self._measure)
        reader = target.http(self.user, SCOPE, connections=1)
        Work.__init__(self, target, phase, place, measurements, reader, self._look_for)
        self.recorder = self
        self._place = place
        self._before: Any = before
        self._prepare()

    def _prepare(self) -> None:
        """Make what these events need beside."""

    @abstractmethod
    def _queries(self, api: HttpApi) -> Queries:
        """The questions about the accepted events."""

    @abstractmethod
    def _is_readable(self, api: HttpApi, event: Event) -> bool:
        """Whether an event can be read."""

    def _look_for(self, events: Sequence[Event]) -> tuple[int, Look]:
        """The first of ``events`` as a sample of how soon they can be read."""
        return 1, lambda: int(self._can_read(self._reader, events[0]))

    def _can_read(self, api: HttpApi, event: Event) -> bool:
        """Whether an event can be read; what is not stored yet may be a 404."""
        try:
            return self._is_readable(api, event)
        except HttpError as error:
            if error.status != 404:
                raise
            return False

    def sender(self, _number: int) -> Sender:
        """The one producer, who sends as every user.

        Raises:
            TokenRefused: no token may send.
        """
        return Sender(self.user, True, self._target.token_for(self.user, "events:write"))

    def sent(self) -> dict[str, Any]:
        """What was sent so far."""
        return self.counts(self.attempts, len(self.all_accepted), self.refusals)

    def read_back(self) -> Findings:
        """Ask every question about the accepted events."""
        if not self.all_accepted:
            return Findings(at=time.monotonic())
        with closing(self._target.http(self.user, SCOPE, connections=CLIENTS, timeout=30.0)) as api:
            left = self.all_accepted[-NEWEST:]

            def unreadable() -> int:
                left[:] = [event for event in left if not self._can_read(api, event)]
                return len(left)

            await_none(unreadable, PATIENCE)
            at = time.monotonic()
            self._probe.finish()
            with closing(Lanes(self._target.operator(OPERATOR))) as lanes:
                found = until_complete(lambda: self._queries(api).run_histories(), lanes.waiting)
                found.waiting = lanes.waiting_of(found.lost)
            wrong = (found.wrong if not self.unanswered else []) + (self._wrong_counts(api) if self._last else [])
        unchecked = f"answers: {self.unanswered} events have no answer, and may be stored" if self.unanswered else ""
        examples = {"wrong": wrong[:5], "not checked": [unchecked] if unchecked else []}
        found.lost -= found.waiting
        found.unexpected = max(0, found.unexpected - self.unanswered)
        found.wrong, found.at = wrong, at
        found.examples = {kind: names for kind, names in examples.items() if names}
        return found

    def _wrong_counts(self, api: HttpApi) -> list[str]:
        """The wrong counts of this phase and of all before it. Asked at the end, they have to be waited for once."""
        found: list[str] = self._before._wrong_counts(api) if self._before is not None else []
        if not self.all_accepted or self.unanswered:
            return found
        return found + self._queries(api).run_counts().wrong


def until_complete(
    read: Callable[[], Findings], waiting: Callable[[], int], sleep: Callable[[float], None] = time.sleep
) -> Findings:
    """Read everything again while fewer events are missing each time, or the lanes hold events.

    ``waiting`` counts the events that the lanes hold. They are waited for no longer than ``WAITING_WITHIN`` seconds.
    """
    end, found = time.monotonic() + WAITING_WITHIN, read()
    while found.lost:
        sleep(5.0)
        before, found = found, read()
        if found.lost >= before.lost and (time.monotonic() >= end or not waiting()):
            break
    return found
