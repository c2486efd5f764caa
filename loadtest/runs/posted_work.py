"""What a phase of rides and one of clicks have in common: events are posted, and all questions about them are asked."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import closing
from functools import partial
from typing import ClassVar, TypeVar

from loadtest.checker.durability_probe import Look
from loadtest.checker.readback import await_none
from loadtest.client.credentials import Sender
from loadtest.client.target import Target
from loadtest.measured.measurements import Measurements
from loadtest.runs.place import Place
from loadtest.runs.work import OPERATOR, Findings, Sent, Work
from loadtest.sending.delivery import CountedEvents, SentEvent
from loadtest.sending.draining import NEWEST, unreadable, until_complete
from loadtest.sending.queries import PATIENCE, Queries
from loadtest.sending.queue_depths import Lanes
from loadtest.shapes.shape import Phase
from localstage.client.http_api import HttpApi

Event = TypeVar("Event", bound=SentEvent)
SCOPE = "analytics:read"


class PostedWork(Work, CountedEvents[Event], ABC):
    """One worker's events of a phase. ``before`` is the phase before, if any."""

    user: ClassVar[str]
    clients: ClassVar[int]
    """The connections that ask questions."""

    def __init__(
        self, target: Target, phase: Phase, place: Place, measurements: Measurements, before: PostedWork[Event] | None
    ) -> None:
        CountedEvents.__init__(self, self._measure)
        reader = target.http(self.user, SCOPE, connections=1)
        Work.__init__(self, target, phase, place, measurements, reader, self._look_for)
        self.recorder = self
        self._before = before

    @abstractmethod
    def _queries(self, api: HttpApi) -> Queries:
        """The questions about the accepted events."""

    @abstractmethod
    def _is_readable(self, api: HttpApi, event: Event) -> bool:
        """Whether an event can be read."""

    def _look_for(self, events: Sequence[Event]) -> tuple[int, Look]:
        """The first of ``events`` as a sample of how soon they can be read."""
        return 1, lambda: int(self._is_readable(self._reader, events[0]))

    def sender(self, _number: int) -> Sender:
        """The one producer, who sends as every user.

        Raises:
            TokenRefused: no token may send.
        """
        return Sender(self.user, True, self._target.token_for(self.user, "events:write"))

    def sent(self) -> Sent:
        """What was sent so far."""
        counts = dict(self.lanes), dict(self.errors), dict(self.retries)
        return Sent(self.attempts, len(self.all_accepted), self.refusals, *counts)

    def read_back(self) -> Findings:
        """Ask every question about the accepted events."""
        if not self.all_accepted:
            return Findings(0, 0, 0, at=time.monotonic())
        with closing(self._target.http(self.user, SCOPE, connections=self.clients, timeout=30.0)) as api:
            asked = (partial(self._is_readable, api, event) for event in self.all_accepted[-NEWEST:])
            await_none(unreadable(asked), PATIENCE)
            at = time.monotonic()
            self._probe.finish()
            with closing(Lanes(self._target.operator(OPERATOR))) as lanes:
                found = until_complete(lambda: self._queries(api).run_histories(), lanes.waiting)
                waiting = lanes.waiting_of(found.lost)
            wrong = (found.wrong if not self.unanswered else []) + (self._wrong_counts(api) if self._last else [])
        unchecked = f"answers: {self.unanswered} events have no answer, and may be stored" if self.unanswered else ""
        examples = {"wrong": wrong[:5], "not checked": [unchecked] if unchecked else []}
        return Findings(
            found.stored,
            found.lost - waiting,
            max(0, found.unexpected - self.unanswered),
            wrong=len(wrong),
            waiting=waiting,
            examples={kind: names for kind, names in examples.items() if names},
            at=at,
        )

    def _wrong_counts(self, api: HttpApi) -> list[str]:
        """The wrong counts of this phase and of all before it. Asked at the end, they have to be waited for once."""
        found = self._before._wrong_counts(api) if self._before is not None else []
        if not self.all_accepted or self.unanswered:
            return found
        return found + self._queries(api).run_counts().wrong
