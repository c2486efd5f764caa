"""Which messages of a room a reader may see: every reader of messages asks a :class:`ReadScope`, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headrace.core.items import is_expired
from headrace.core.times import Interval
from headrace.streams.chat.rooms.retention import Retention

if TYPE_CHECKING:
    from headrace.api.paging.range_walk import Span


@dataclass(frozen=True, slots=True)
class ReadScope:
    """The messages within ``intervals`` that the room still keeps, as its ``retention`` says.

    Intervals are in order and never overlap; ``None`` is the whole room. A message of a trusted sender may be stored a
    moment before its room ``exists``. Methods that take ``now`` (microseconds) may raise StoreUnavailable.
    """

    intervals: tuple[Interval, ...] | None
    retention: Callable[[], Retention] = Retention
    exists: bool = True

    @property
    def is_open(self) -> bool:
        """Whether new messages may be read."""
        return self.intervals is None or (bool(self.intervals) and self.intervals[-1].left_at is None)

    def covers(self, timestamp: str) -> bool:
        """Whether the intervals have this time."""
        return self.intervals is None or any(interval.covers(timestamp) for interval in self.intervals)

    def shows(self, row: Mapping[str, Any], now: int) -> bool:
        """Whether the row of a message may be shown."""
        sent_at = row["timestamp"]
        return not is_expired(row, now) and self.covers(sent_at) and sent_at >= self.retention().kept_from(now)

    def spans(self, now: int, start: str | None = None, end: str | None = None) -> list[Span]:
        """The spans of messages that may be shown, from ``start`` until before ``end``. Rows in them may be expired."""
        # Imported here: functions that store or push messages read no spans.
        from headrace.api.paging.range_walk import spans_of

        return spans_of(self.intervals, max(start or "", self.retention().kept_from(now)) or None, end)
