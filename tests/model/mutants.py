"""Faults of earlier systems (docs/explanation/promises.md), each patched into the code under test.

Each mutant takes pytest's ``monkeypatch``; its docstring says what the mutated code does.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from headrace.core import times
from headrace.core.errors import PoisonRecord, RetryLaneUnavailable, StoreUnavailable
from headrace.delivery import persister, retry_schedule
from headrace.delivery.acceptor import Acceptor
from headrace.delivery.persister import Persister
from headrace.features.analytics import late_events
from headrace.features.operations.dead_letters import DeadLetters
from headrace.storage.ports import GuardedStore
from headrace.streams.chat import incoming as chat
from headrace.streams.chat import stream
from tests.fakes.queues import MemoryPublisher
from tests.model import world
from tests.model.world import World

Mutant = Callable[[pytest.MonkeyPatch], None]

MUTANTS: dict[Mutant, str] = {}
"""Each mutant, with the message with which the model reports it."""


def found_as(message: str) -> Callable[[Mutant], Mutant]:
    """Register the decorated mutant with the message with which the model reports it."""

    def register(mutant: Mutant) -> Mutant:
        MUTANTS[mutant] = message
        return mutant

    return register


@found_as(r"lost")
def acknowledged_before_it_is_stored(patch: pytest.MonkeyPatch) -> None:
    """Faults 1 and 15: acknowledged when it is only in memory, or in ``finally``."""
    patch.setattr(MemoryPublisher, "give_back", MemoryPublisher.settle)


@found_as(r"was given the id")
def a_fresh_id_per_send(patch: pytest.MonkeyPatch) -> None:
    """Fault 5: the server makes the id, so that a client's retry is a new row."""
    patch.setattr(chat.IncomingMessage, "__getattribute__", _without_an_id)
    patch.setattr(times, "new_message_id", lambda _now: random.randbytes(8).hex())


def _without_an_id(self: Any, name: str) -> Any:
    return None if name == "message_id" else object.__getattribute__(self, name)


@found_as(r"lost|was delayed")
def unprocessed_items_are_dropped(patch: pytest.MonkeyPatch) -> None:
    """Fault 3: items that the table did not take are only logged."""
    put_many = GuardedStore.put_many

    def put_and_forget(self: GuardedStore, *arguments: Any) -> Any:
        return [each if isinstance(each, PoisonRecord) else None for each in put_many(self, *arguments)]

    patch.setattr(GuardedStore, "put_many", put_and_forget)


@found_as(r"lost|was delayed|poison is not dead")
def marked_before_the_work_is_done(patch: pytest.MonkeyPatch) -> None:
    """Fault 2: an id counts as processed before it is stored, so that the retry is dropped as a duplicate."""
    start = World.start
    rows_of = persister.records.rows_of

    def start_with_marks(self: World) -> None:
        start(self)
        marks: set[bytes] = self.__dict__.setdefault("marks", set())

        def mark(body: bytes, tables: Any) -> Any:
            record = rows_of(body, tables)
            new = record.rows if body not in marks else ()
            marks.add(body)
            return type(record)(record.stream, record.envelope, new)

        patch.setattr(persister.records, "rows_of", mark)

    patch.setattr(World, "start", start_with_marks)


@found_as(r"lost")
def a_dead_letter_is_deleted_before_it_is_sent(patch: pytest.MonkeyPatch) -> None:
    """Fault 4: reading the dead-letter queue deletes its messages."""
    move = DeadLetters._move

    def delete_first(self: DeadLetters, letters: Sequence[Any], *arguments: Any) -> Any:
        self.lane.delete([letter.held for letter in letters])
        return move(self, letters, *arguments)

    patch.setattr(DeadLetters, "_move", delete_first)


@found_as(r"lost")
def accepted_without_a_confirm(patch: pytest.MonkeyPatch) -> None:
    """Fault 7: the publisher's failure is swallowed."""
    publish = MemoryPublisher.publish
    patch.setattr(MemoryPublisher, "publish", lambda self, messages: [None] * len(publish(self, messages)))


@found_as(r"lost")
def accepted_though_the_retry_lane_refused(patch: pytest.MonkeyPatch) -> None:
    """Fault 7: the retry lane's refusal is swallowed."""
    hand_over = Acceptor._hand_over

    def swallowed(self: Acceptor, parts: Sequence[Any], correlation_id: str, results: Sequence[Any]) -> None:
        hand_over(self, parts, correlation_id, results)
        for result in results:
            if isinstance(result.error, RetryLaneUnavailable):
                result.lane, result.error = "retry", None

    patch.setattr(Acceptor, "_hand_over", swallowed)


@found_as(r"lost")
def queues_drop_their_head(patch: pytest.MonkeyPatch) -> None:
    """Fault 8: a full queue drops its oldest messages."""
    keep = MemoryPublisher.keep

    def keep_two(self: MemoryPublisher, message: Any) -> None:
        keep(self, message)
        del self.queues[message.routing_key][:-2]

    patch.setattr(MemoryPublisher, "keep", keep_two)


@found_as(r"lost")
def nothing_is_parked(patch: pytest.MonkeyPatch) -> None:
    """Fault 8: there is no dead-letter exchange for messages redelivered too often."""
    give_back = MemoryPublisher.give_back

    def give_back_or_drop(self: MemoryPublisher, queue: str) -> None:
        give_back(self, queue)
        self.parked.clear()

    patch.setattr(MemoryPublisher, "give_back", give_back_or_drop)


@found_as(r"raised")
def the_function_raises_for_a_bad_record(patch: pytest.MonkeyPatch) -> None:
    """One bad record returns the whole batch at every delivery."""

    def raise_it(self: Persister, raw: Mapping[str, Any], meter: Any) -> Any:
        return persister.records.rows_of(persister.rabbit_body(raw), self._tables)

    patch.setattr(Persister, "_read", raise_it)


@found_as(r"dead after .* of outage")
def no_pauses_between_tries(patch: pytest.MonkeyPatch) -> None:
    """Five attempts are over in a second, so events die in any outage."""
    patch.setattr(retry_schedule, "pause_after", lambda _received, _first: 0)


@found_as(r"poison is not dead at once|poison was waited for")
def poison_waits_like_any_other(patch: pytest.MonkeyPatch) -> None:
    """Poison reaches the dead lane only after all retries."""

    pause = Persister._pause

    def waiting(self: Persister, raw: Any, _reasons: Any) -> int:
        return pause(self, raw, [StoreUnavailable("not now")])

    patch.setattr(Persister, "_pause", waiting)


@found_as(r"dead after 0 s of outage")
def a_crash_record_shares_its_batch(patch: pytest.MonkeyPatch) -> None:
    """The retry mapping gives batches of ten."""
    patch.setattr(world, "RETRY_BATCH_SIZE", 10)


@found_as(r"parked beside a crash record")
def redelivered_records_are_processed_again(patch: pytest.MonkeyPatch) -> None:
    """A crash record ends the process until the broker parks its whole batch."""
    patch.setattr(Persister, "_hand_on", lambda _self, raws, _meter: raws)


@found_as(r"unexpected|lost")
def the_sender_is_not_in_the_key(patch: pytest.MonkeyPatch) -> None:
    """Fault 19: every user can overwrite any message."""
    patch.setattr(chat.keys, "content_tag", lambda _subject, *_content: "a" * 12)


@found_as(r"resulted in")
def every_caller_may_name_the_user(patch: pytest.MonkeyPatch) -> None:
    """Fault 19: the user id of the body is trusted."""
    choose = chat.choose_user
    trust = {"trusted": True}

    def trusting(sender: Any, *arguments: Any) -> Any:
        return choose(type(sender)(sender.subject, sender.username, now=sender.now, **trust), *arguments)

    patch.setattr(chat, "choose_user", trusting)


@found_as(r"another time")
def expiry_is_counted_from_the_last_write(patch: pytest.MonkeyPatch) -> None:
    """A redelivered event lives longer than it should."""
    start = World.start

    def start_with_clock(self: World) -> None:
        start(self)
        patch.setattr(persister.records.times, "micros_of", lambda _accepted_at: self.clock.now())

    patch.setattr(World, "start", start_with_clock)


@found_as(r"another time")
def a_resend_extends_the_expiry(patch: pytest.MonkeyPatch) -> None:
    """The expiry counts from the last acceptance."""

    def from_acceptance(_timestamp: str, accepted_at: int, retention_days: int) -> int:
        return (accepted_at + retention_days * times.DAY) // times.SECOND

    patch.setattr(stream, "expires_at", from_acceptance)


@found_as(r"not drain|not stored")
def the_breaker_never_closes(patch: pytest.MonkeyPatch) -> None:
    """After one outage the table stays unavailable."""
    patch.setattr(World, "monotonic", lambda _self: 0.0)


@found_as(r"not marked")
def late_events_ignore_the_failure(patch: pytest.MonkeyPatch) -> None:
    """The cache does not take the mark of a stored row, and the failure is not reported."""
    mark = late_events.mark
    patch.setattr(late_events, "mark", lambda *arguments: [None for _ in mark(*arguments)])
