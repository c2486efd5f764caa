"""What a phase of rides and one of clicks have in common: events are posted, and all questions about them are asked."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import closing
from functools import partial
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from loadtest.checker.durability_probe import DurabilityProbe, Look
from loadtest.checker.findings import Findings as Answers
from loadtest.client.target import Target
from loadtest.measured.measurements import Measurements
from loadtest.runs.place import Place
from loadtest.runs.posted_events import PostedEvents
from loadtest.runs.work import OPERATOR, Findings, Sent
from loadtest.sending.draining import NEWEST, await_readable, until_complete
from loadtest.sending.queue_depths import Lanes
from localstage.client.http_api import HttpApi

Event = TypeVar("Event")
SCOPE = "analytics:read"


class Queries(Protocol):
    """All questions about the events of a stream. The answers are compared with what was sent."""

    def run_histories(self, advance: Any) -> Answers:
        """Ask the questions that find lost and unexpected events."""
        ...

    def run_counts(self, advance: Any) -> Answers:
        """Ask the questions about counts."""
        ...


class PostedWork(ABC, Generic[Event]):
    """One worker's events of a phase. ``before`` is the phase before, if any."""

    user: ClassVar[str]
    clients: ClassVar[int]
    """The connections that ask questions."""

    def __init__(
        self, target: Target, place: Place, measurements: Measurements, before: PostedWork[Event] | None
    ) -> None:
        self._target = target
        self._reader = target.http(self.user, SCOPE, connections=1)
        self._probe = DurabilityProbe(
            self._look_for, on_found=lambda seconds, count: measurements.record("durable", seconds, count)
        )
        self.posted: PostedEvents[Event] = PostedEvents(measurements, self._probe.offer)
        self._last = place.last
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

    def begin(self) -> None:
        """Prepare nothing."""

    def sent(self) -> Sent:
        """What was sent so far."""
        return self.posted.sent()

    def read_back(self) -> Findings:
        """Ask every question about the accepted events."""
        if not self.posted.accepted:
            return Findings(0, 0, 0, at=time.monotonic())
        with closing(self._target.http(self.user, SCOPE, connections=self.clients, timeout=30.0)) as api:
            await_readable(partial(self._is_readable, api, event) for event in self.posted.accepted[-NEWEST:])
            at = time.monotonic()
            self._probe.finish()
            with closing(Lanes(self._target.operator(OPERATOR))) as lanes:
                found = until_complete(lambda: self._queries(api).run_histories(lambda _: None), lanes.waiting)
                waiting = lanes.waiting_of(found.lost)
            wrong = (found.wrong if not self._unanswered else []) + (self._wrong_counts(api) if self._last else [])
        unchecked = f"answers: {self._unanswered} events have no answer, and may be stored" if self._unanswered else ""
        examples = {"wrong": wrong[:5], "not checked": [unchecked] if unchecked else []}
        return Findings(
            found.stored,
            found.lost - waiting,
            max(0, found.unexpected - self._unanswered),
            wrong=len(wrong),
            waiting=waiting,
            examples={kind: names for kind, names in examples.items() if names},
            at=at,
        )

    @property
    def _unanswered(self) -> int:
        """How many events got no answer: each may be stored or not."""
        sent = self.posted.sent()
        return sent.attempted - sent.accepted - sent.refused

    def _wrong_counts(self, api: HttpApi) -> list[str]:
        """The wrong counts of this phase and of all before it. Asked at the end, they have to be waited for once."""
        found = self._before._wrong_counts(api) if self._before is not None else []
        if not self.posted.accepted or self._unanswered:
            return found
        return found + self._queries(api).run_counts(lambda _: None).wrong

    def close(self) -> None:
        """Close the reader's connection."""
        self._probe.finish()
        self._reader.close()
