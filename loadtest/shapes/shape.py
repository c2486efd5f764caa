"""What a shape of load consists of, and how it is scaled."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from loadtest.client.command import RETRY_TIMEOUT

FEWEST_USERS = 4
"""A smaller scale keeps as many users of each kind, so that their requests still overlap."""


@dataclass(frozen=True)
class Load:
    """What the users of one kind, as ``loadtest/locustfile.py`` names them, do together.

    They send ``events`` (0: until the phase ends) in requests of ``batch``, at ``rate`` events per second (0: each user
    sends when its last request was answered). For users that only read, an event is a request.
    """

    kind: str
    users: int
    events: int = 0
    rate: float = 0.0
    batch: int = 1


@dataclass(frozen=True)
class Phase:
    """Loads at the same time, for ``seconds`` (0: until all events are sent), in ``rooms``.

    With ``people`` each message names one of so many users, so its sender needs the scope events:write; the fractions
    ``joins`` and ``leaves`` of the messages are JOIN and LEAVE. Otherwise each Locust user sends its own messages. The
    fraction ``repeated`` of the requests is sent a second time, as by a client that missed the answer. Rooms with
    ``shards`` are made before, with so many shards. A ``cold`` phase starts functions; :meth:`Shape.with_seconds`
    leaves it as it is. Senders that are ``paced`` slow down after refusals, as the Python client does; the others only
    wait before they send again. All give up when nothing of a request was accepted for ``retry_timeout`` seconds.
    """

    name: str
    loads: tuple[Load, ...]
    seconds: float = 0.0
    stream: str = "chat"
    rooms: int = 16
    people: int = 0
    joins: float = 0.0
    leaves: float = 0.0
    repeated: float = 0.0
    shards: int = 0
    cold: bool = False
    paced: bool = False
    retry_timeout: float = RETRY_TIMEOUT

    @classmethod
    def of_message(cls, message: Mapping[str, Any]) -> Phase:
        """The phase of simple values, which ``asdict`` made of one."""
        return cls(**{**message, "loads": tuple(Load(**each) for each in message["loads"])})

    @property
    def users(self) -> int:
        """How many users take part."""
        return sum(load.users for load in self.loads)

    @property
    def rate(self) -> float:
        """Events per second of all its writers; 0 if they send as fast as they can."""
        return sum(load.rate for load in self.loads if load.kind in WRITERS)

    @property
    def events(self) -> str:
        """What its events are."""
        return EVENTS.get(self.stream, "events")

    @property
    def writes(self) -> bool:
        """Whether events are sent, and not only questions."""
        return any(load.kind in WRITERS for load in self.loads)

    def faster(self, factor: float) -> Phase:
        """The same phase at ``factor`` times the rate."""
        return self.with_loads(replace(load, rate=load.rate * factor) for load in self.loads)

    def with_loads(self, loads: Iterable[Load]) -> Phase:
        """The same phase with other loads. A name such as "128 clients" or "1,000/s" has the new number."""
        changed = replace(self, loads=tuple(loads))
        name = self.name.replace(f"{self.users:,} clients", f"{changed.users:,} clients")
        return replace(changed, name=name.replace(f"{self.rate:,.0f}/s", f"{changed.rate:,.0f}/s"))

    def at_rate(self, rate: float) -> Phase:
        """The same phase with ``rate`` events a second from all its writers together."""
        writers, before = [load for load in self.loads if load.kind in WRITERS], self.rate

        def changed(load: Load) -> Load:
            return replace(load, rate=rate * (load.rate / before if before else 1 / len(writers)))

        return self.with_loads(changed(load) if load in writers else load for load in self.loads)


EVENTS = {"chat": "messages", "ski": "rides", "ads": "clicks"}
WRITERS = ("WebSocketWriter", "HttpWriter")


@dataclass(frozen=True)
class Limit:
    """Repeats the last phase with ``factor`` times the rate, at most ``steps`` times, until it is too much.

    It is too much when the 99th percentile of the acknowledgements exceeds ``ack_p99`` seconds, when the retry lane is
    used, when the checker finds a fault, or when too many events are not sent in time.
    """

    factor: float
    steps: int
    ack_p99: float


@dataclass(frozen=True)
class Shape:
    """Phases one after the other."""

    name: str
    description: str
    phases: tuple[Phase, ...]
    limit: Limit | None = None

    @property
    def steps(self) -> Sequence[Phase]:
        """The phases to play; with a limit the last one again and again, faster each time."""
        if self.limit is None:
            return self.phases
        *before, last = self.phases
        return [*before, *(last.faster(self.limit.factor**step) for step in range(self.limit.steps))]

    def scaled(self, factor: float) -> Shape:
        """The shape with ``factor`` times the events, seconds, users, rates and steps."""
        limit = self.limit and replace(self.limit, steps=max(2, math.ceil(self.limit.steps * factor)))
        phases = (phase.with_loads(_scaled(load, factor) for load in phase.loads) for phase in self.phases)
        return replace(self, phases=tuple(replace(each, **_lasting(each, factor)) for each in phases), limit=limit)

    def with_seconds(self, seconds: float) -> Shape:
        """The shape with the longest phase lasting ``seconds``, and the others in proportion, but a second at least."""
        longest = max(phase.seconds for phase in self.phases)
        if not longest:
            raise ValueError(f"{self.name} sends a number of events, and has no duration; give SCALE")
        return self._with(lambda phase: {} if phase.cold else _lasting(phase, seconds / longest))

    def _with(self, changes: Callable[[Phase], dict[str, Any]]) -> Shape:
        """The shape with the ``changes`` of each phase."""
        return replace(self, phases=tuple(replace(phase, **changes(phase)) for phase in self.phases))

    def with_events(self, events: int) -> Shape:
        """The shape with ``events`` events in its first load, and in proportion in the others."""
        first = self.phases[0].loads[0].events
        if not first:
            raise ValueError(f"{self.name} has a duration, and no number of events; give SCALE or SECONDS")

        def resized(load: Load) -> Load:
            return replace(load, events=load.events and max(1, load.events * events // first))

        return self._with(lambda phase: {"loads": tuple(map(resized, phase.loads))})

    def at_rate(self, rate: float) -> Shape:
        """The shape with ``rate`` events a second in each phase that sends events."""
        return replace(self, phases=tuple(phase.at_rate(rate) for phase in self.phases))

    def sent(self, paced: bool, retry_timeout: float) -> Shape:
        """The shape with senders that are ``paced``, or as they were, and give up after ``retry_timeout``."""
        return self._with(lambda phase: {"paced": paced or phase.paced, "retry_timeout": retry_timeout})


def _lasting(phase: Phase, factor: float) -> dict[str, Any]:
    return {"seconds": phase.seconds and max(1.0, phase.seconds * factor)}


def _scaled(load: Load, factor: float) -> Load:
    users = min(load.users, max(FEWEST_USERS, math.ceil(load.users * factor)))
    return replace(
        load,
        users=users if factor < 1 else math.ceil(load.users * factor),
        rate=load.rate * factor,
        events=load.events and max(users, math.ceil(load.events * factor)),
    )
