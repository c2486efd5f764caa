"""The invariants that are checked after every step of the model, and the final drain."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from hypothesis.stateful import RuleBasedStateMachine, invariant

from headrace.core.caller import Caller
from headrace.core.errors import PoisonRecord
from headrace.delivery.records import rows_of, sqs_body
from headrace.queues.names import persist_queue, persist_queues
from tests.model.ledger import SECOND, EventKey, Ledger, events_in, key_of, poison_in
from tests.model.poison import POISON
from tests.model.senders import ClientEvent
from tests.model.world import BREAKERS, PAUSES, QUEUES, Delivery, World, sqs_record
from tests.worlds.senders import TABLE

BUDGET = sum(PAUSES) * SECOND
"""The retry budget in microseconds: a shorter outage leaves the dead lane empty."""
RECEIVES = len(PAUSES) + 1
ROUNDS = 12
"""The rounds of a drain, 15 minutes apart: twice as many as the slowest record needs."""


class Base(RuleBasedStateMachine):
    """One world, its ledger, and the state of its senders and operators."""

    def __init__(self) -> None:
        super().__init__()
        self.world = self.make_world()
        self.ledger = Ledger()
        self.sent: list[tuple[Caller, ClientEvent]] = []
        self.excused: set[EventKey] = set()
        self.outage: tuple[int, int] | None = None

    def make_world(self) -> World:
        """The hook that a mutant replaces."""
        return World()

    @property
    def now(self) -> int:
        return self.world.clock.now()

    @invariant()
    def accepted_events_are_kept_and_stored_events_were_sent(self) -> None:
        """P1, P2, P3, P12."""
        self.ledger.check_kept(self.ledger.check_rows(self.world.rows()), self.world.bodies())

    @invariant()
    def events_missing_from_analytics_stay_in_a_lane(self) -> None:
        """P9: an event stored late stays in a lane until its slots are marked as changed, unless it was discarded."""
        waiting = self.world.cache.unmarked() - self.ledger.discarded
        if waiting:
            assert waiting <= _events(self.world.bodies()), f"not marked: {waiting} is stored late and in no lane"

    @invariant()
    def a_short_outage_leaves_the_dead_lane_empty(self) -> None:
        """P5, P6: only crash records are dead, however long the table throttles. Events that were in a process when it
        crashed are excluded."""
        if self.world.table_is_unavailable or self.world.cache.down:
            start = self.outage[0] if self.outage else self.now
            self.outage = (start, self.now)
        start, end = self.outage or (0, 0)
        if end - start < BUDGET:
            dead = self.dead_events() - self.excused
            assert not dead, f"dead after {(end - start) // SECOND} s of outage: {dead}"

    def dead_events(self) -> set[EventKey]:
        """Events in the dead lane. Stored events that share an envelope with poison do not count. Events that share
        one with a crash event never count: a crash fails the whole record."""
        stored = {key_of(row) for row in self.world.rows()}
        dead: set[EventKey] = set()
        for message in self.world.lane.dead.messages:
            events = events_in(message.record.body)
            if not self.world.crash_events.isdisjoint(events):
                continue
            dead |= events - stored if poison_in(message.record.body) else events
        return dead

    def check_neighbours(self, delivery: Delivery) -> None:
        """P5: this delivery stores all valid events that the table accepts, next to any other records. Redelivered
        events of the main lane may go to the retry lane instead."""
        if delivery.crashed or self.world.table_is_unavailable:
            return
        stored = {key_of(row) for row in self.world.rows()}
        for body in delivery.bodies:
            waiting = {event for event in events_in(body) - stored if event.id not in self.world.throttled}
            assert not waiting, f"{waiting} was delayed by another record"

    def make_crash_event(self, event: EventKey) -> None:
        """Let ``event`` crash every process that tries to store it, until ``heal`` is called."""
        self.world.crash_events.add(event)
        self.excused.add(event)

    def drain(self) -> None:
        """End all failures and deliver until all lanes are empty."""
        self.world.heal()
        self.world.clock.advance(BREAKERS.probe_seconds)
        for _ in range(ROUNDS):
            while self.world.broker.parked:
                self.world.unpark()
            self.run_what_is_due()
            if not self.world.broker.bodies() and not self.world.lane.records:
                break
            self.world.clock.advance(900)
        assert not self.world.broker.bodies(), "the broker's queues do not drain"
        assert not self.world.lane.records, "the retry lane does not drain"
        self.outage = None
        self.excused |= self.dead_events()

    def run_what_is_due(self) -> None:
        """Deliver until no record is visible."""
        for queue in persist_queues(QUEUES):
            while self.world.broker.queues[queue]:
                self.world.deliver(queue, 10)
        self.poll_all()

    def poll_all(self) -> None:
        """Run the retry lane's trigger until nothing is visible."""
        while (delivery := self.world.poll(10)).bodies:
            self.check_neighbours(delivery)

    def teardown(self) -> None:
        """Drain and check at the end of a run."""
        if sys.exc_info()[0] is None:
            self.finish()

    def finish(self) -> None:
        """P1, P4, P9, P11: after a drain and a complete redrive, all accepted events are stored, the slots of late
        events are marked, and only poison is dead."""
        self.drain()
        self.check_account()
        self.world.clock.advance(60)
        self.world.redrive()
        self.drain()
        self.check_account()
        rows = self.ledger.check_rows(self.world.rows())
        assert self.ledger.accepted - self.ledger.discarded <= rows, "accepted, drained, and not stored"
        assert self.world.cache.unmarked() <= self.ledger.discarded, "drained, stored late, and not marked"
        self.check_dead()
        self.check_poison_is_dead_at_once()

    def check_account(self) -> None:
        """P4: with nothing in flight, accepted = stored + retry + dead + parked + discarded, each event once."""
        left = set(self.ledger.accepted)
        counted = 0
        places: list[set[EventKey]] = [
            self.ledger.check_rows(self.world.rows()),
            _events(record.body for record in self.world.lane.records),
            _events(message.record.body for message in self.world.lane.dead.messages),
            _events(message.body for message in self.world.broker.parked),
            {each for each in self.ledger.discarded if isinstance(each, EventKey)},
        ]
        for place in places:
            counted += len(left & place)
            left -= place
        assert counted == len(self.ledger.accepted), f"unaccounted for: {left}"

    def check_dead(self) -> None:
        """The dead lane has exactly the poison, each with the reason that persist's validator gives."""
        found: set[str] = set()
        for message in self.world.lane.dead.messages:
            markers = poison_in(message.record.body)
            assert markers, f"dead without being poison: {message.record}"
            found |= markers
            record = sqs_record(message)
            expected = {self.ledger.poison[marker] for marker in markers}
            assert reasons_of(record) == expected, f"poison is dead for another reason than {expected}"
        # Of two copies (a redrive stopped between sending and deleting), one may be discarded and the other not.
        assert found | self.ledger.discarded >= self.ledger.poison.keys(), "poison is not dead"

    def check_poison_is_dead_at_once(self) -> None:
        """P5: poison is dead at once."""
        before, kind = self.now, sorted(POISON)[len(self.sent) % len(POISON)]
        marker = f"poison-{len(self.ledger.poison)}"
        self.ledger.poison[marker] = kind
        self.world.put(persist_queue("chat", 0), POISON[kind](marker))
        self.run_what_is_due()
        dead = {each for message in self.world.lane.dead.messages for each in poison_in(message.record.body)}
        assert self.now == before, "poison was dead only after a wait"
        assert marker in dead, f"poison is not dead at once: {kind}"


def _events(bodies: Iterable[bytes]) -> set[EventKey]:
    return {event for body in bodies for event in events_in(body)}


def reasons_of(record: dict[str, object]) -> set[str]:
    """The reasons why the record's poison can never be stored."""
    try:
        rows = rows_of(sqs_body(record), {"chat": TABLE}).rows
    except PoisonRecord as error:
        return {error.reason}
    return {row.poison.reason for row in rows if row.poison is not None}
