"""Operations on dead letters: list them, move them back to the retry lane, discard them.

SQS cannot read a queue from a position, so every operation receives letters for a bounded time. Letters that stay in
the queue become visible again when the operation ends or, if the process crashes, after their visibility timeout.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from headrace.core import times
from headrace.core.errors import DeadLaneUnavailable, FieldError, InvalidRequest
from headrace.core.stream import EventScreen, TableSettings
from headrace.core.times import Clock
from headrace.features.operations.dead_letter import REDRIVEN, DeadLetter, Filter, examine
from headrace.queues.dead_lane import RECEIVE_LIMIT, DeadLane, ReceivedLetter
from headrace.queues.sqs import RetryLane
from headrace.runtime.observability import Meter, report

SCAN_SECONDS = 4.0
SCAN_HOLD = 6
SCAN_LIMIT = 2000
"""The duration of a scan, the visibility timeout of its letters, and how many letters it finds at most."""
SLICE_SECONDS = 15.0
SLICE_HOLD = 60
IDLE_SLICES = 2
SHARED_SECONDS = 0.2
"""The pause after which a scan looks again for letters that others held."""
DISCARD_SECONDS = 10


@dataclass(slots=True)
class ScanResult:
    """The letters that match, how many were ``scanned``, and whether the whole queue was (``complete``)."""

    letters: list[DeadLetter] = field(default_factory=list)
    scanned: int = 0
    complete: bool = False

    @property
    def reasons(self) -> dict[str, int]:
        """The number of letters by reason, largest first."""
        return dict(Counter(letter.reason for letter in self.letters).most_common())

    @property
    def days(self) -> dict[str, dict[str, int]]:
        """The number of letters by the day (UTC) of the first failure, oldest first, and by reason."""
        days: dict[str, Counter[str]] = {}
        for letter in sorted(self.letters, key=lambda each: each.first_failed_at):
            days.setdefault(letter.first_failed_at.partition("T")[0], Counter())[letter.reason] += 1
        return {day: dict(reasons.most_common()) for day, reasons in days.items()}


@dataclass(frozen=True, slots=True)
class RedriveState:
    """The progress of a redrive. Its letters are marked with ``started_at``: one that fails again is not moved again.

    ``idle`` counts the last slices in a row that found only newer letters, and ``hidden`` these letters.
    """

    started_at: str
    wanted: Filter
    rate: int
    moved: int = 0
    failed: int = 0
    idle: int = 0
    hidden: int = 0
    done: bool = False


@dataclass(frozen=True)
class DeadLetters:
    """The dead lane of one stage; ``tables`` and ``screens`` are by stream name.

    Every method may raise DeadLaneUnavailable, before it has changed anything.
    """

    lane: DeadLane
    retry_lane: RetryLane
    tables: Mapping[str, TableSettings]
    clock: Clock
    screens: Mapping[str, EventScreen]
    monotonic: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep

    def find(self, wanted: Filter, limit: int = SCAN_LIMIT) -> ScanResult:
        """The letters that match. Nothing is changed, and all are visible again when this returns."""
        found, scan = self._find(wanted, SCAN_HOLD, limit)
        self.lane.release(scan.held)
        return found

    def start(self, wanted: Filter, rate: int) -> RedriveState:
        """A redrive of the letters that match, at most ``rate`` a second."""
        return RedriveState(times.iso(self.clock.now()), wanted, rate)

    def redrive(self, state: RedriveState, meter: Meter) -> RedriveState:
        """Move letters to the retry lane for one slice of time; ``done`` when none is left.

        Each is sent, then deleted. An interruption in between leaves two copies, and the event is stored once.
        """
        began = self.monotonic()
        scan = self._scan(SLICE_HOLD, began + SLICE_SECONDS, state.hidden)
        moved = failed = 0
        for letters in scan:
            meant = [letter for letter in letters if _is_meant(letter, state)]
            gone = self._move(meant, state.started_at, meter)
            scan.forget(gone)
            moved += len(gone)
            failed += len(meant) - len(gone)
            if meant and not gone:
                break
            self._pace(began, moved, state.rate, began + SLICE_SECONDS)
        # A slice that found only newer letters keeps them invisible, so that the next slice receives the others. While
        # letters arrive faster than they are read, no slice reaches the end of the queue: two idle slices then end it.
        idle = 0 if moved or failed else state.idle + 1
        done = scan.complete or idle >= IDLE_SLICES
        hidden = 0 if moved or failed or done else state.hidden + len(scan.held)
        if not hidden:
            self.lane.release(scan.held)
        return replace(state, moved=state.moved + moved, failed=failed, idle=idle, hidden=hidden, done=done)

    def discard(self, wanted: Filter, rate: int, confirm: int | None, meter: Meter) -> tuple[ScanResult, int]:
        """Delete the letters that match, if ``confirm`` is their number; returns them and how many were deleted.

        At most :func:`discard_limit` letters are found, and exactly those are deleted.

        Raises:
            InvalidRequest: ``confirm`` is another number; the message names theirs.
            DeadLaneUnavailable: others hold letters, which may match too.
        """
        found, scan = self._find(wanted, SLICE_HOLD, discard_limit(rate))
        count = len(found.letters)
        if scan.is_shared:
            self.lane.release(scan.held)
            raise DeadLaneUnavailable("others are reading dead letters right now; try again shortly")
        if confirm != count:
            self.lane.release(scan.held)
            wrong = FieldError("confirm", f"must be {count}", confirm, "the number of letters that match")
            raise InvalidRequest(f"{count} letters would be discarded; confirm must be {count}", details=[wrong])
        began = self.monotonic()
        gone: set[str] = set()
        for start in range(0, count, RECEIVE_LIMIT):
            part = found.letters[start : start + RECEIVE_LIMIT]
            gone |= self._delete(part, "Discarded", meter)
            self._pace(began, start + len(part), rate, began + DISCARD_SECONDS)
        scan.forget(gone)
        self.lane.release(scan.held)
        return found, len(gone)

    def _find(self, wanted: Filter, hold: int, limit: int) -> tuple[ScanResult, _Scan]:
        scan = self._scan(hold, self.monotonic() + SCAN_SECONDS)
        found = ScanResult()
        for letters in scan:
            found.scanned += len(letters)
            found.letters.extend(letter for letter in letters if wanted.matches(letter))
            if len(found.letters) >= limit:
                break
        found.complete = scan.complete
        del found.letters[limit:]
        return found, scan

    def _scan(self, hold: int, deadline: float, hidden: int = 0) -> _Scan:
        return _Scan(self.lane, self.tables, hold, lambda: self.monotonic() < deadline, self.sleep, hidden)

    def _move(self, letters: Sequence[DeadLetter], redriven_at: str, meter: Meter) -> set[str]:
        if not letters:
            return set()
        outcomes = self.retry_lane.send([letter.retry_record(redriven_at) for letter in letters])
        sent = [letter for letter, outcome in zip(letters, outcomes, strict=True) if outcome is None]
        for outcome in outcomes:
            if outcome is not None:
                report("RetryLaneUnavailable", f"dead letters were not moved: {outcome.message}")
        return self._delete(sent, "Redriven", meter)

    def _delete(self, letters: Sequence[DeadLetter], counted_as: str, meter: Meter) -> set[str]:
        gone = set()
        for letter, deleted in zip(letters, self.lane.delete([each.held for each in letters]), strict=True):
            if deleted:
                gone.add(letter.held.id)
                meter.count(counted_as, letter.events, stream=letter.stream)
                meter.trace(counted_as.lower(), {letter.correlation_id: letter.events}, stream=letter.stream)
        return gone

    def _pace(self, began: float, count: int, rate: int, deadline: float) -> None:
        pause = min(began + count / rate, deadline) - self.monotonic()
        if pause > 0:
            self.sleep(pause)


def _is_meant(letter: DeadLetter, state: RedriveState) -> bool:
    """Whether a redrive moves ``letter``: only one that entered the retry lane before the redrive began."""
    sent_before = times.iso(letter.held.sent_at) <= state.started_at
    moved_before = letter.held.attributes.get(REDRIVEN, "") < state.started_at
    return sent_before and moved_before and state.wanted.matches(letter)


@dataclass
class _Scan:
    """Receives letters, each once, until the queue is read or the time is over.

    ``held`` are those that were received and not deleted; ``complete`` says whether the whole queue was received, and
    ``is_shared`` whether others held letters at the end, such as an erasure; ``hidden`` are held by the same redrive.
    If the queue fails after the first letters, the held ones are released and the scan ends.
    """

    lane: DeadLane
    tables: Mapping[str, TableSettings]
    hold: int
    in_time: Callable[[], bool]
    sleep: Callable[[float], None]
    hidden: int
    complete: bool = False
    is_shared: bool = False
    _held: dict[str, ReceivedLetter] = field(default_factory=dict)

    @property
    def held(self) -> list[ReceivedLetter]:
        return list(self._held.values())

    def forget(self, ids: set[str]) -> None:
        for each in ids:
            self._held.pop(each, None)

    def __iter__(self) -> Iterator[list[DeadLetter]]:
        seen: set[str] = set()
        while self.in_time():
            try:
                received = self.lane.receive(self.hold)
                new = {each.id: each for each in received if each.id not in seen}
                self.is_shared = not new and self.lane.others_hold(self.hidden + len(self._held))
            except DeadLaneUnavailable as error:
                self.lane.release(self.held)
                if not seen:
                    raise
                report("DeadLaneUnavailable", error.message)
                return
            if self.is_shared:
                self.sleep(SHARED_SECONDS)
                continue
            if not new:
                self.complete = True
                return
            seen.update(new)
            self._held.update(new)
            yield [examine(each, self.tables) for each in new.values()]


def discard_limit(rate: int) -> int:
    """How many letters one discard takes at most."""
    return min(SCAN_LIMIT, rate * DISCARD_SECONDS)
