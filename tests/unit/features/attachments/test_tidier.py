"""When the files of expired messages are deleted."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from headrace.core.times import DAY, SECOND
from headrace.features.attachments.files import days_of, file_name, new_upload_id, room_of
from headrace.features.attachments.tidier import tidy
from headrace.streams.chat.rooms.retention import Retention
from tests.fakes.clock import FixedClock
from tests.fakes.files import MemoryFiles, memory_attachments
from tests.worlds.senders import NOW


class Retentions:
    """Rooms that keep messages for so many days."""

    def __init__(self, **days: int) -> None:
        self.days = days

    def retentions(self, room_ids: Any) -> dict[str, Retention]:
        return {room_id: Retention(self.days.get(room_id)) for room_id in room_ids}


def test_files_go_when_no_message_of_their_time_is_shown_any_more() -> None:
    clock, files = FixedClock(NOW), MemoryFiles()
    for room, days in (("hall", 5), ("hall", 7), ("attic", 20), ("attic", 40)):
        uploaded = datetime.fromisoformat(NOW) - timedelta(days=days)
        files.put(file_name("alice", room, new_upload_id(30)), at=uploaded)
    args = memory_attachments(files), Retentions(hall=3).retentions, clock, lambda: 900.0

    assert tidy(*args) == 2
    assert [room_of(name) for name in files.objects] == ["hall", "attic"]
    clock.advance(4 * DAY / SECOND)
    assert tidy(*args) == 1


def test_files_go_after_the_days_of_the_stage_at_their_upload_as_rows_do() -> None:
    clock, files = FixedClock(NOW), MemoryFiles()
    uploaded = datetime.fromisoformat(NOW) - timedelta(days=100)
    names = {days: file_name("alice", "hall", new_upload_id(days)) for days in (30, 365, 0)}
    for name in names.values():
        files.put(name, at=uploaded)

    assert tidy(memory_attachments(files), Retentions().retentions, clock, lambda: 900.0) == 1
    assert files.objects.keys() == {names[365], names[0]}
    assert [days_of(names[days]) for days in names] == [30, 365, 0]


def test_without_a_retention_every_file_stays_and_a_bucket_that_is_too_large_says_so() -> None:
    files = MemoryFiles()
    files.put(file_name("alice", "hall", new_upload_id(0)), at=datetime(2000, 1, 1, tzinfo=UTC))
    args = memory_attachments(files), Retentions().retentions, FixedClock(NOW)

    assert tidy(*args, lambda: 900.0) == 0
    with pytest.raises(TimeoutError, match="too many files"):
        tidy(*args, lambda: 10.0)
