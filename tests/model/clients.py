"""The model's clients, which send, resend, use ids of others and lose answers, and its foreign publishers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import initialize, precondition, rule

from headrace.api.error_bodies import Result
from headrace.core import times
from headrace.core.caller import Caller
from headrace.core.errors import InvalidEvent, RetryLaneUnavailable
from headrace.core.sender import SenderContext
from headrace.queues import names
from headrace.runtime.observability import Meter
from tests.model.base import RECEIVES, Base
from tests.model.ledger import EventKey
from tests.model.poison import POISON, POISON_EVENTS, envelope
from tests.model.process import When
from tests.model.senders import CALLERS, ClientEvent, callers, client_events, complete_events
from tests.model.world import DELIVERY_LIMIT, QUEUES
from tests.worlds.senders import CHAT

queues = st.sampled_from(names.persist_queues(QUEUES))
calls = st.integers(1, 6)
when = st.sampled_from(["before", "halfway", "after"])
places = st.sampled_from(["queue", "retry lane"])
several = st.lists(st.integers(0, 7), min_size=1, max_size=4)


class Clients(Base):
    """Users, a trusted importer, and foreign publishers that write into a lane directly."""

    @initialize(by=callers, client_events=client_events)
    def begin(self, by: Caller, client_events: list[ClientEvent]) -> None:
        self._send(by, client_events)

    @rule(by=callers, client_events=client_events)
    def send(self, by: Caller, client_events: list[ClientEvent]) -> None:
        self._send(by, client_events)

    @precondition(lambda self: self.sent)
    @rule(number=st.integers(0, 1000), count=st.integers(1, 4))
    def resend(self, number: int, count: int) -> None:
        """P3: the same events under the same ids and times."""
        by, event = self.sent[number % len(self.sent)]
        same = [each for sender, each in self.sent if sender is by]
        start = same.index(event)
        self._send(by, same[start : start + count])

    @precondition(lambda self: self.sent)
    @rule(number=st.integers(0, 1000), by=callers, in_their_name=st.booleans())
    def send_with_another_senders_key(self, number: int, by: Caller, in_their_name: bool) -> None:
        """P12: send an event with the room, id and time of another sender, with and without that sender's user id."""
        victim, event = self.sent[number % len(self.sent)]
        user = victim.subject if in_their_name else None
        self._send(by, [ClientEvent(event.room, f"{by.subject} was here", event.id, event.time, user)])

    @rule(by=callers, client_events=complete_events, calls=calls, when=when)
    def send_and_crash(self, by: Caller, client_events: list[ClientEvent], calls: int, when: When) -> None:
        """The function ends before it answers: the client has no result, and the event may be accepted or not."""
        good = [event for event in client_events if event.valid(by, self.now)]
        for event in good:
            self.ledger.attempt(event.key(by), event.content(by), self.now)
        with self.world.ending(calls, when):
            self._send(by, client_events)
            good = []
        self.sent.extend((by, event) for event in good)

    @rule(place=places, queue=queues, kind=st.sampled_from(sorted(POISON)))
    def poison(self, place: str, queue: str, kind: str) -> None:
        """Put a foreign publisher's invalid record into a lane."""
        marker = self._marker()
        in_retry_lane = place == "retry lane" and kind != "not_base64"
        self.world.put("" if in_retry_lane else queue, POISON[kind](marker))
        self.ledger.poison[marker] = kind

    @rule(place=places, queue=queues, kind=st.sampled_from(sorted(POISON_EVENTS)), count=st.integers(1, 3))
    def poison_among_good_events(self, place: str, queue: str, kind: str, count: int) -> None:
        marker = self._marker()
        events = self._foreign_events(count)
        body = envelope(events[0], POISON_EVENTS[kind](marker), *events[1:], acceptedAt=times.iso(self.now))
        self.world.put("" if place == "retry lane" else queue, body)
        self.ledger.poison[marker] = kind

    @rule(count=st.integers(1, 8), which=several, seconds=st.sampled_from([60, 360]))
    def crash_records_among_others_in_the_retry_lane(self, count: int, which: list[int], seconds: int) -> None:
        """P5: only the crash records reach the dead lane."""
        self._crash_records_among_others("", count, which)
        for _ in range(2 * RECEIVES):
            self.poll_all()
            self.world.clock.advance(seconds)
            self.a_short_outage_leaves_the_dead_lane_empty()

    @precondition(lambda self: not self.world.broker.down)
    @rule(queue=queues, count=st.integers(1, 8), which=several)
    def crash_records_among_others_in_the_main_lane(self, queue: str, count: int, which: list[int]) -> None:
        """P5: crash records go to the retry lane, and the broker parks no record of their batch."""
        self.world.lane.recover()
        bodies = self._crash_records_among_others(queue, count, which)
        for _ in range(DELIVERY_LIMIT + 1):
            self.check_neighbours(self.world.deliver(queue, 100))
        parked = {message.body for message in self.world.broker.parked} & bodies
        assert not parked, f"parked beside a crash record: {parked}"

    def _crash_records_among_others(self, queue: str, count: int, which: list[int]) -> set[bytes]:
        events = self._foreign_events(count)
        bodies = [envelope(event, acceptedAt=times.iso(self.now)) for event in events]
        for body in bodies:
            self.world.put(queue, body)
        for number in which:
            event = events[number % count]
            self.make_crash_event(EventKey(*(event[name] for name in ("roomId", "timestamp", "messageId", "sender"))))
        return set(bodies)

    def _foreign_events(self, count: int) -> list[dict[str, Any]]:
        """New stamped events of a foreign publisher. They count as accepted once they are in a lane."""
        by = CALLERS[0]
        client_events = [
            ClientEvent(id=f"foreign-{len(self.ledger.attempted)}-{n}", time=times.iso(self.now)) for n in range(count)
        ]
        for event in client_events:
            self.ledger.attempt(event.key(by), event.content(by), self.now)
            self.ledger.accepted.add(event.key(by))
        sender = SenderContext(by.subject, by.username, False, self.now)
        return [CHAT.accept(event.raw(), sender).event for event in client_events]

    def _marker(self) -> str:
        return f"poison-{len(self.ledger.poison)}"

    def _send(self, by: Caller, client_events: Sequence[ClientEvent]) -> None:
        results = self.world.acceptor.accept(CHAT, by, [event.raw() for event in client_events], "c", Meter())
        for event, result in zip(client_events, results, strict=True):
            self._record_result(by, event, result)

    def _record_result(self, by: Caller, event: ClientEvent, result: Result) -> None:
        """P2: a valid event is accepted into a lane, or refused with what a retry needs. Invalid events are refused."""
        assert isinstance(result.error, InvalidEvent) != event.valid(by, self.now), f"{event} resulted in {result}"
        if isinstance(result.error, InvalidEvent):
            return
        known = event.sent(result.receipt)
        assert event.id in (None, known.id), f"{event} was given the id {known.id}"
        assert event.time in (None, known.time), f"{event} was given the time {known.time}"
        self.ledger.attempt(known.key(by), known.content(by), self.now)
        self.sent.append((by, known))
        if result.error is None:
            assert result.lane in ("main", "retry")
            self.ledger.accepted.add(known.key(by))
        else:
            assert isinstance(result.error, RetryLaneUnavailable)
