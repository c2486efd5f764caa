"""Erases people from the dead-letter queue: their events, and no others of the same letters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from headrace.core.envelope import Envelope, decode
from headrace.core.errors import PoisonRecord
from headrace.core.people import FindErased, Progress, Target
from headrace.core.stream import Stream
from headrace.queues.dead_lane import DeadLane, ReceivedLetter
from headrace.queues.ports import RetryRecord
from headrace.queues.sqs import ENCODING, RetryLane, from_text

HOLD = 900
"""Seconds for which a letter is hidden while others are read: as long as a slice may take."""


@dataclass(frozen=True, slots=True)
class LetterEraser:
    """The step for dead letters. SQS cannot change a message: the others' events of a letter are tried again.

    Each letter loses the events of every erased person, so two erasures may share the lane.
    """

    lane: DeadLane
    retry_lane: RetryLane
    find: FindErased
    streams: Mapping[str, Stream]

    def dead_letters(self, target: Target) -> Progress:
        """Delete the events of erased people. Letters that cannot be read stay; the last round counts them."""
        held: dict[str, ReceivedLetter] = {}
        seen: set[str] = set()
        try:
            while received := [each for each in self.lane.receive(HOLD) if each.id not in seen]:
                seen |= {each.id for each in received}
                held |= {each.id: each for each in received}
                erased = unreadable = 0
                for letter in received:
                    envelope = self._envelope(letter)
                    if envelope is None:
                        unreadable += 1
                    elif events := self._erase(letter, envelope):
                        erased += events
                        held.pop(letter.id)
                yield "deadLetters", erased
                if target.is_last:
                    yield "unreadableDeadLetters", unreadable
        finally:
            self.lane.release(list(held.values()))

    def _erase(self, letter: ReceivedLetter, envelope: Envelope) -> int:
        """Erase events of a letter; returns how many. It stays as it is if the retry queue refuses the rest."""
        stream = self.streams[envelope.stream]
        gone = self.find(stream, [(envelope.accepted_at, event) for event in envelope.events])
        if not gone:
            return 0
        rest = [event for at, event in enumerate(envelope.events) if at not in gone]
        if rest:
            attributes = {name: value for name, value in letter.attributes.items() if name != ENCODING}
            record = RetryRecord(replace(envelope, events=rest).encode(), attributes)
            if self.retry_lane.send([record])[0] is not None:
                return 0
        (deleted,) = self.lane.delete([letter])
        return len(gone) if deleted else 0

    def _envelope(self, letter: ReceivedLetter) -> Envelope | None:
        """What a letter holds; ``None`` if it is no record of a known stream."""
        try:
            envelope = decode(from_text(letter.body, letter.attributes.get(ENCODING)))
        except PoisonRecord:
            return None
        return envelope if envelope.stream in self.streams else None
