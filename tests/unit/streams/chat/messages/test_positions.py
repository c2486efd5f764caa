"""Which rows are marked as stored late, so that a page with ``since`` finds them."""

from __future__ import annotations

import pytest

from headrace.core.times import MINUTE, iso, parse_iso
from headrace.streams.chat.messages.positions import LATE, STORED_AT, UNLOGGED, mark_late, mark_unlogged

NOW = parse_iso("2025-11-21T10:00:40Z")


@pytest.mark.parametrize(("age", "expected"), [(-MINUTE, None), (LATE, None), (LATE + 1, iso(NOW))])
def test_a_message_that_is_stored_late_is_marked(age: int, expected: str | None) -> None:
    row: dict[str, object] = {"roomId": "r", "timestampSk": "s", "messageId": "m-1", "timestamp": iso(NOW - age)}

    mark_late([row], NOW)

    assert row.get(STORED_AT) == expected


def test_a_message_that_is_in_no_log_is_marked_once() -> None:
    late: dict[str, object] = {"timestamp": iso(NOW), STORED_AT: iso(NOW)}
    fresh: dict[str, object] = {"timestamp": iso(NOW)}

    assert mark_unlogged([late, fresh], NOW) == [late, fresh]
    assert late[STORED_AT] == fresh[STORED_AT] == iso(NOW + UNLOGGED)
    assert mark_unlogged([late, fresh], NOW + 1) == []
