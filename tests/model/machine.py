"""The model: clients, triggers, operators and failures in any order.

The invariants are in ``base.py``: P1 accepted means stored or in a lane; P2 unknown is never "accepted"; P3 stored
once in effect; P4 everything is accounted for; P5 a poison record delays only itself; P6 an outage shorter than the
retry budget leaves the dead lane empty; P9 an event stored late is redelivered until its analytics slots are marked;
P11 a redrive may be stopped, repeated and raced; P12 no caller changes another user's data.
"""

from __future__ import annotations

from contextlib import suppress

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from headrace.core.errors import (
    BrokerUnavailable,
    ConnectionLost,
    DeadLaneUnavailable,
    PublisherBlocked,
    PublishNacked,
    PublishReturned,
    PublishUnconfirmed,
)
from headrace.features.operations.dead_letter import STORABLE
from tests.model.base import RECEIVES
from tests.model.clients import Clients, calls, queues, when
from tests.model.ledger import events_in
from tests.model.poison import POISON
from tests.model.process import When
from tests.model.senders import IDS
from tests.model.world import DELIVERY_LIMIT, PAUSES

REFUSED = [PublishReturned, PublishNacked, PublisherBlocked, PublishUnconfirmed, ConnectionLost]
KEPT_ALL_THE_SAME = [PublishUnconfirmed, ConnectionLost]

ids = st.sampled_from(IDS)
limits = st.integers(1, 6)
reasons = st.sampled_from([None, STORABLE, *sorted(POISON)])


class Triggers(Clients):
    """The event source mappings, which deliver and redeliver. Their function may crash at any point."""

    @precondition(lambda self: self.world.broker.bodies())
    @rule(queue=queues, limit=limits, ack_lost=st.booleans())
    def deliver(self, queue: str, limit: int, ack_lost: bool) -> None:
        self.check_neighbours(self.world.deliver(self._busy(queue), limit, ack_lost))

    @precondition(lambda self: self.world.broker.bodies())
    @rule(queue=queues, limit=limits, calls=calls, when=when)
    def deliver_and_crash(self, queue: str, limit: int, calls: int, when: When) -> None:
        with self.world.ending(calls, when):
            delivery = self.world.deliver(self._busy(queue), limit)
        self.check_neighbours(delivery)

    @precondition(lambda self: self.world.lane.records)
    @rule(limit=limits, ack_lost=st.booleans())
    def poll(self, limit: int, ack_lost: bool) -> None:
        self.check_neighbours(self.world.poll(limit, ack_lost))

    @precondition(lambda self: self.world.lane.records)
    @rule(limit=limits, calls=calls, when=when)
    def poll_and_crash(self, limit: int, calls: int, when: When) -> None:
        with self.world.ending(calls, when):
            delivery = self.world.poll(limit)
        if delivery.crashed:
            self.excused.update(event for body in delivery.bodies for event in events_in(body))
        self.check_neighbours(delivery)

    def _busy(self, queue: str) -> str:
        """``queue``, or another one that has messages."""
        waiting = [name for name, messages in self.world.broker.queues.items() if messages]
        return queue if queue in waiting else waiting[0]


class Faults(Triggers):
    """Outages, recoveries, refusals, partial results, and the passing of time."""

    @rule(kind=st.sampled_from(REFUSED), count=st.integers(1, 3))
    def broker_refuses_next(self, kind: type[BrokerUnavailable], count: int) -> None:
        self.world.broker.fail_next(*[kind("no")] * count)

    @rule(kind=st.sampled_from(KEPT_ALL_THE_SAME), count=st.integers(1, 3))
    def broker_stores_next_without_a_confirm(self, kind: type[BrokerUnavailable], count: int) -> None:
        self.world.broker.fail_next(*[kind("no answer")] * count, kept=True)

    @rule(count=st.integers(1, 3))
    def retry_lane_refuses_next(self, count: int) -> None:
        """``SendMessageBatch`` returns entries in ``Failed[]``."""
        self.world.lane.refuse_next(count)

    @rule(down=st.booleans())
    def broker(self, down: bool) -> None:
        self.world.broker.down = down

    @rule(down=st.booleans())
    def retry_lane(self, down: bool) -> None:
        self.world.lane.down = down

    @rule(down=st.booleans())
    def table(self, down: bool) -> None:
        self.world.store.down = down

    @rule(down=st.booleans())
    def cache(self, down: bool) -> None:
        self.world.cache.down = down

    @rule(ids=st.frozensets(ids, max_size=4))
    def throttle(self, ids: frozenset[str]) -> None:
        self.world.throttled = ids

    @precondition(lambda self: self.ledger.accepted)
    @rule(number=st.integers(0, 1000))
    def make_one_event_crash(self, number: int) -> None:
        """An accepted event crashes every process that tries to store it, until all failures end."""
        self.make_crash_event(sorted(self.ledger.accepted)[number % len(self.ledger.accepted)])

    @rule(seconds=st.sampled_from([1, 15, 60, 240, 360, 900, 1200]))
    def wait(self, seconds: int) -> None:
        self.world.clock.advance(seconds)

    @rule(what=st.sampled_from(["table", "cache"]), pauses=st.integers(1, RECEIVES), queue=queues)
    def long_outage(self, what: str, pauses: int, queue: str) -> None:
        """An outage as long as this number of the retry lane's pauses; all of them exceed the retry budget."""
        target = self.world.store if what == "table" else self.world.cache
        target.down = True
        self.a_short_outage_leaves_the_dead_lane_empty()
        self.check_neighbours(self.world.deliver(queue, 10))
        for pause in (*PAUSES, 0)[:pauses]:
            self.poll_all()
            self.world.clock.advance(pause)
        self.a_short_outage_leaves_the_dead_lane_empty()
        target.down = False

    @precondition(lambda self: self.world.broker.bodies())
    @rule(queue=queues)
    def long_throttling(self, queue: str) -> None:
        """The table throttles for as long as all tries of an unavailable one take."""
        before, self.world.throttled = self.world.throttled, frozenset(IDS)
        self.check_neighbours(self.world.deliver(self._busy(queue), 10))
        for pause in (*PAUSES, 0, 0):
            self.poll_all()
            self.world.clock.advance(pause)
        self.world.throttled = before

    @precondition(lambda self: self.world.broker.bodies())
    @rule(queue=queues)
    def acknowledgements_are_lost_until_parked(self, queue: str) -> None:
        """The broker parks stored records, because it never received their acknowledgement."""
        for _ in range(DELIVERY_LIMIT + 1):
            self.check_neighbours(self.world.deliver(queue, 10, ack_lost=True))


class Model(Faults):
    """The complete model, with operators whose commands may stop at any point."""

    @precondition(lambda self: self.world.lane.dead.messages)
    @rule(reason=reasons)
    def redrive(self, reason: str | None) -> None:
        with suppress(DeadLaneUnavailable):
            self.world.redrive(reason)

    @precondition(lambda self: self.world.lane.dead.messages)
    @rule(calls=calls, when=when)
    def redrive_and_stop(self, calls: int, when: When) -> None:
        """P11."""
        with self.world.ending(calls, when), suppress(DeadLaneUnavailable):
            self.world.redrive()

    @precondition(lambda self: self.world.lane.dead.messages)
    @rule(reason=reasons)
    def discard(self, reason: str | None) -> None:
        with suppress(DeadLaneUnavailable):
            self.ledger.discard(self.world.discard(reason))

    @precondition(lambda self: self.world.broker.parked)
    @rule(calls=st.integers(0, 2), when=when)
    def unpark(self, calls: int, when: When) -> None:
        with self.world.ending(calls, when):
            self.world.unpark()

    @rule()
    def drain_and_check(self) -> None:
        """P4."""
        self.drain()
        self.check_account()
