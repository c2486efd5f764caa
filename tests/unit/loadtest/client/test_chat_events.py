"""Frames joined by hand equal the JSON of ``json.dumps``, and are never too large for API Gateway."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from loadtest.client.chat_events import (
    FRAME_BYTES,
    ChatEvent,
    after,
    batch_frame,
    batches,
    iso,
    parse_iso,
    single_frame,
)

TEXT = st.text(alphabet=st.characters(exclude_categories=("Cs",)), max_size=60)
EVENTS = st.builds(
    ChatEvent,
    room_id=TEXT,
    message_id=TEXT,
    timestamp=st.just("2025-11-21T10:00:58.722861Z"),
    user_id=TEXT,
    message=TEXT,
    username=st.none() | TEXT,
)


def fields(event: ChatEvent) -> dict[str, str]:
    body = {
        "roomId": event.room_id,
        "message": event.message,
        "messageId": event.message_id,
        "timestamp": event.timestamp,
    }
    return body if event.username is None else {**body, "userId": event.user_id, "username": event.username}


@given(EVENTS)
def test_a_single_frame_equals_the_json_of_its_event(event: ChatEvent) -> None:
    assert json.loads(single_frame(event, "r1")) == {"action": "sendMessage", "requestId": "r1", **fields(event)}


@given(st.lists(EVENTS, max_size=5))
def test_a_batch_frame_equals_the_json_of_its_events(events: list[ChatEvent]) -> None:
    expected = [fields(event) for event in events] if events else [{}]

    assert json.loads(batch_frame(events, "r2")) == {"action": "sendBatch", "requestId": "r2", "events": expected}


@given(st.lists(st.integers(0, 4096), max_size=400))
def test_batches_keep_every_event_in_order_and_fit_a_frame(lengths: list[int]) -> None:
    events = [
        ChatEvent("room", f"id-{index}", "2025-11-21T10:00:58.722861Z", "a", "\x01" * (length // 6))
        for index, length in enumerate(lengths)
    ]

    cut = list(batches(events))

    assert [event for batch in cut for event in batch] == events
    for batch in cut:
        assert 1 <= len(batch) <= 100
        assert len(batch_frame(batch, "r999999").encode()) <= 32 * 1024
    assert FRAME_BYTES < 32 * 1024


@given(st.datetimes(min_value=datetime(1970, 1, 1), max_value=datetime(9999, 1, 1)))
def test_times_have_one_width_and_come_back(moment: datetime) -> None:
    moment = moment.replace(tzinfo=UTC)

    assert len(iso(moment)) == 27
    assert parse_iso(iso(moment)) == moment
    assert after(iso(moment)) > iso(moment)
