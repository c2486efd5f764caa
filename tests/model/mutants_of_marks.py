"""Faults of the marks that must follow a stored row, each patched into the code as in ``mutants.py``."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.delivery.persister import Persister
from headrace.delivery.row_writer import RowWriter
from headrace.features.analytics import late_events
from tests.model.mutants import Mutant


def late_events_ignore_the_failure(patch: pytest.MonkeyPatch) -> None:
    """The cache does not take the mark, and the failure is not reported."""
    mark = late_events.mark
    patch.setattr(late_events, "mark", lambda *arguments: [None for _ in mark(*arguments)])


def slots_are_marked_before_the_row_is_stored(patch: pytest.MonkeyPatch) -> None:
    """A count between the two caches a result that lacks the row."""
    write = RowWriter._write_stream

    def mark_first(self: RowWriter, stream: Any, rows: Any, *arguments: Any) -> Any:
        items = [row.item for _, row in rows if row.item is not None]
        for _, hook in self.after:
            hook(items)
        return write(RowWriter(self.store, self.tables, (), self.before), stream, rows, *arguments)

    patch.setattr(RowWriter, "_write_stream", mark_first)


def redelivered_rows_are_not_marked(patch: pytest.MonkeyPatch) -> None:
    """The retry lane stores the row again, and does not mark its slots."""
    retry_lane = Persister.retry_lane

    def silent(self: Persister, *arguments: Any) -> Any:
        writer, self._writer = self._writer, RowWriter(self._writer.store, self._tables)
        try:
            return retry_lane(self, *arguments)
        finally:
            self._writer = writer

    patch.setattr(Persister, "retry_lane", silent)


def only_the_shortest_slot_is_marked(patch: pytest.MonkeyPatch) -> None:
    """The hour and the day, which are merged from shorter slots, never count the event."""
    patch.setattr(late_events, "STEPS", late_events.STEPS[:1])


NOT_MARKED = "not marked"

MUTANTS: dict[Mutant, str] = {
    late_events_ignore_the_failure: NOT_MARKED,
    slots_are_marked_before_the_row_is_stored: NOT_MARKED,
    redelivered_rows_are_not_marked: NOT_MARKED,
    only_the_shortest_slot_is_marked: NOT_MARKED,
}
"""Each mutant, with the message with which the model reports it."""
