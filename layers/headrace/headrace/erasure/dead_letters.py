"""Erases a person from the dead-letter queue: their events, and no others of the same letters."""

from __future__ import annotations

from dataclasses import replace

from headrace.core.envelope import Envelope, decode
from headrace.core.errors import PoisonRecord
from headrace.erasure.people import SKIER, USER, Person, people_of
from headrace.erasure.tasks import Progress, Target
from headrace.queues.ports import DeadLane, ReceivedLetter, RetryLane, RetryRecord
from headrace.queues.sqs import ENCODING, from_text
from headrace.streams.registry import STREAMS

HOLD = 300
"""Seconds for which a letter is hidden while others are read."""


class LetterEraser:
    """The step for dead letters. SQS cannot change a message: the others' events of a letter are tried again."""

    def __init__(self, lane: DeadLane, retry_lane: RetryLane) -> None:
        self._lane = lane
        self._retry_lane = retry_lane

    def dead_letters(self, target: Target) -> Progress:
        """Delete the person's events. Letters that cannot be read stay, and are counted as unreadable."""
        held: dict[str, ReceivedLetter] = {}
        seen: set[str] = set()
        try:
            while True:
                received = [each for each in self._lane.receive(HOLD) if each.id not in seen]
                if not received:
                    break
                seen |= {each.id for each in received}
                held |= {each.id: each for each in received}
                erased = unreadable = 0
                for letter in received:
                    envelope = _envelope(letter)
                    if envelope is None:
                        unreadable += 1
                    elif events := self._erase(letter, envelope, target):
                        erased += events
                        held.pop(letter.id)
                yield "deadLetters", erased
                yield "unreadableDeadLetters", unreadable
        finally:
            self._lane.release(list(held.values()))

    def _erase(self, letter: ReceivedLetter, envelope: Envelope, target: Target) -> int:
        """Erase the person's events in a letter; returns how many. It stays as it is if the queue refuses the rest."""
        people = {Person(USER, target.user_id)}
        if target.skier_id is not None:
            people.add(Person(SKIER, target.skier_id))
        stream = STREAMS[envelope.stream]
        rest = [event for event in envelope.events if people.isdisjoint(people_of(stream, event))]
        if len(rest) == len(envelope.events) or envelope.accepted_at > target.erased_at:
            return 0
        if rest:
            attributes = {name: value for name, value in letter.attributes.items() if name != ENCODING}
            record = RetryRecord(replace(envelope, events=rest).encode(), attributes)
            if self._retry_lane.send([record])[0] is not None:
                return 0
        (deleted,) = self._lane.delete([letter])
        return len(envelope.events) - len(rest) if deleted else 0


def _envelope(letter: ReceivedLetter) -> Envelope | None:
    """What a letter holds; ``None`` if it is no record of a known stream."""
    try:
        envelope = decode(from_text(letter.body, letter.attributes.get(ENCODING)))
    except PoisonRecord:
        return None
    return envelope if envelope.stream in STREAMS else None
