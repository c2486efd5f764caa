"""A retry lane in memory, for tests: fails on demand."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.errors import RetryLaneUnavailable
from headrace.retry_lane.base import Handover, Postponement


class MemoryRetryLane:
    """``records`` holds what was taken. ``down``: nothing is taken."""

    def __init__(self) -> None:
        self.records: list[Handover] = []
        self.postponed: list[Postponement] = []
        self.down = False
        self._refusals = 0

    def refuse_next(self, count: int) -> None:
        """Refuse the next ``count`` records."""
        self._refusals += count

    def send(self, records: Sequence[Handover]) -> list[RetryLaneUnavailable | None]:
        """One outcome per record, in order."""
        return [self._send(record) for record in records]

    def _send(self, record: Handover) -> RetryLaneUnavailable | None:
        if self._refusals:
            self._refusals -= 1
            return RetryLaneUnavailable("the retry queue refused it")
        if self.down:
            return RetryLaneUnavailable("the retry queue is away")
        self.records.append(record)
        return None

    def postpone(self, postponements: Sequence[Postponement]) -> None:
        """Remember what was asked."""
        self.postponed.extend(postponements)
