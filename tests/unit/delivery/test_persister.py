"""Records of the main and retry lane are stored once, or go to the next lane."""

from __future__ import annotations

import json
from typing import Any

import pytest

from headrace.core import times
from headrace.core.envelope import Envelope, decode
from headrace.core.errors import RetryLaneUnavailable
from headrace.core.items import Item
from headrace.delivery.persister import LONGEST_WAIT, TRY_MARGIN
from headrace.queues.ports import RetryRecord
from headrace.queues.sqs import MESSAGE_BYTES
from tests.worlds.senders import CHAT, CLOCK, NOW, message, sender
from tests.worlds.write_path import WritePath, sqs_event


def event(message_id: str = "m-1", **fields: Any) -> dict[str, Any]:
    return CHAT.accept(message(messageId=message_id), sender()).event | fields


def envelope(*events: dict[str, Any]) -> bytes:
    return Envelope("chat", "c-1", NOW, events or [event()]).encode()


POISON = {
    "not_base64": "%%%",
    "not_text": b"\xff\x00\xfe",
    "not_json": b"\x01 hello",
    "not_an_envelope": b"[]",
    "newer_version": json.dumps({"v": 2}).encode(),
    "unknown_stream": Envelope("chess", "c", NOW, [{}]).encode(),
    "no_events": Envelope("chat", "c", NOW, []).encode(),
    "missing_field": envelope({"roomId": "kitchen"}),
    "empty_key": envelope(event(roomId="")),
    "invalid_key": envelope(event(messageId="a#b")),
    "invalid_event": envelope(event(messageType="SHOUT")),
    "item_too_large": envelope(event(message="x" * 410_000)),
}


def test_the_wait_of_the_oldest_event_of_a_batch_is_measured_until_it_is_stored(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """475,000 events in few records once stayed below an alarm that counted records."""
    monkeypatch.setattr(CLOCK, "_now", CLOCK.now())  # and back, after the test
    earlier = times.iso(CLOCK.now() - 90 * times.SECOND)
    write_path = WritePath()

    def takes_two_seconds(_row: Item) -> bool:
        CLOCK.advance(2)
        return False

    write_path.store.throttled = takes_two_seconds
    write_path.persist(envelope(), Envelope("chat", "c-2", earlier, [event("m-2")]).encode(), b"poison")

    (line,) = [json.loads(line) for line in capsys.readouterr().out.splitlines() if "WaitSeconds" in line]
    assert line["WaitSeconds"] == [90.0 + 2 * 2]
    assert (line["stream"], line["lane"]) == ("chat", "main")


def test_redelivery_redrive_and_client_retries_change_no_row() -> None:
    """P3, faults 2 and 5."""
    write_path = WritePath()
    write_path.persist(envelope())
    before = write_path.rows()

    write_path.persist(envelope(), envelope())
    write_path.persist_retry(RetryRecord(envelope()))

    assert write_path.rows() == before


@pytest.mark.parametrize("text", ['"\\ud800"', "[" * 500 + "]" * 500])
def test_poison_keeps_what_no_sender_of_headrace_writes(text: str) -> None:
    """A lone surrogate and deep nesting are JSON: pydantic's encoder refuses both, and failed the whole batch."""
    foreign = envelope(event(messageType="SHOUT", message="-")).replace(b'"-"', text.encode())
    write_path = WritePath()

    write_path.persist(envelope(event("1")), foreign)

    assert [row["messageId"] for row in write_path.rows()] == ["1"]
    assert [record.attributes["reason"] for record in write_path.retry.records] == ["invalid_event"]
    assert write_path.retried() == decode(foreign).events


def test_an_event_is_stored_and_counted_whatever_its_correlation_id_is(capsys: pytest.CaptureFixture[str]) -> None:
    foreign = json.dumps({**json.loads(envelope()), "correlationId": "\ud800"}).encode()
    write_path = WritePath()

    write_path.persist(foreign)

    assert len(write_path.rows()) == 1
    assert '"Stored":[1.0]' in capsys.readouterr().out


def test_the_batch_is_returned_only_when_sqs_refuses_until_near_the_deadline() -> None:
    write_path = WritePath()
    write_path.store.down = write_path.retry.down = True

    with pytest.raises(RetryLaneUnavailable):
        write_path.persist(envelope(), seconds=60)

    assert 60 - TRY_MARGIN - LONGEST_WAIT < sum(write_path.waits) <= 60 - TRY_MARGIN


def test_a_record_too_large_for_sqs_returns_its_batch_at_once() -> None:
    write_path = WritePath()
    write_path.retry.down = True

    with pytest.raises(RetryLaneUnavailable):
        write_path.persist(b"{" + b"x" * MESSAGE_BYTES)

    assert write_path.waits == []


def test_poison_is_visible_at_once_also_while_the_table_is_unavailable() -> None:
    write_path = WritePath()
    write_path.store.down = True
    bodies = [envelope(event("1")), envelope(event("2", roomId="")), b"not json", envelope(event("4"))]

    write_path.persist_retry(*(RetryRecord(body) for body in bodies), received=2)

    last = dict(write_path.retry.postponed)
    assert sorted(last.values()) == [0, 0, 60, 60]


def test_a_record_is_not_tried_near_the_deadline() -> None:
    write_path = WritePath()
    records = sqs_event([RetryRecord(envelope())], received=2)

    answer = write_path.persister.retry_lane(records, lambda: TRY_MARGIN - 1)

    assert answer == {"batchItemFailures": [{"itemIdentifier": "sqs-0"}]}
    assert write_path.rows() == []
    assert [seconds for _, seconds in write_path.retry.postponed] == [60]


def test_the_time_of_writing_is_measured_with_the_stored_events(capsys: pytest.CaptureFixture[str]) -> None:
    write_path = WritePath()

    write_path.persist(envelope(event(), event("m-2")))

    (line,) = [json.loads(each) for each in capsys.readouterr().out.splitlines() if "StoreSeconds" in each]
    assert (line["lane"], line["stream"], line["Stored"]) == ("main", "chat", [2.0])
    assert len(line["StoreSeconds"]) == 1
