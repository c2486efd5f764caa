"""Which rows are marked as stored late, so that a page with ``since`` finds them."""

from __future__ import annotations

import pytest

from headrace.core.stream import TableSettings
from headrace.core.times import MINUTE, SECOND, iso, parse_iso
from headrace.storage.ports import Table
from headrace.streams.chat.messages.positions import LATE, STORED_AT, LateStore
from headrace.streams.probe import item, probe
from tests.fakes.clock import FixedClock
from tests.fakes.storage import MemoryStore

NOW = parse_iso("2025-11-21T10:00:40Z")
TABLE = Table("messages", ("roomId", "timestampSk"))


def stored(row: dict[str, object]) -> object:
    """The mark of a row that is stored now."""
    assert LateStore(MemoryStore(), TABLE.name, FixedClock(NOW)).put_many(TABLE, [row]) == [None]
    return row.get(STORED_AT)


@pytest.mark.parametrize(("age", "expected"), [(-MINUTE, None), (LATE, None), (LATE + 1, iso(NOW))])
def test_a_message_that_is_stored_late_is_marked(age: int, expected: str | None) -> None:
    row: dict[str, object] = {"roomId": "r", "timestampSk": "s", "messageId": "m-1", "timestamp": iso(NOW - age)}

    assert stored(row) == expected


def test_a_probe_is_in_no_index() -> None:
    row = item(probe("queue-1", iso(NOW - 40 * SECOND)), NOW, TableSettings(table="messages"))

    assert stored(row) is None
