"""Events are packed into envelopes within the limits of SQS, and decoded unchanged."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.core.envelope import MAX_BYTES, MAX_EVENTS, Envelope, decode, pack
from headrace.core.errors import POISON_REASONS, PoisonRecord
from tests.worlds.senders import NOW

EVENTS = st.lists(st.dictionaries(st.text(max_size=5), st.text(max_size=5), max_size=3), min_size=1, max_size=5)
GOOD = {"v": 1, "stream": "chat", "correlationId": "c", "acceptedAt": NOW, "events": [{}]}


@given(EVENTS)
def test_an_envelope_is_decoded_as_it_was_encoded(events: list[dict[str, str]]) -> None:
    envelope = Envelope("chat", "c-1", NOW, events)

    assert decode(envelope.encode()) == envelope


def test_a_body_holds_nothing_that_sqs_refuses() -> None:
    body = Envelope("chat", "c-1", NOW, [{"message": "\x00\x1f\ufffe😀"}]).encode()

    assert body.isascii()
    assert all(byte >= 0x20 for byte in body)


@given(st.lists(st.integers(min_value=0, max_value=MAX_BYTES // 20), min_size=1, max_size=150))
def test_packing_keeps_every_event_in_order_and_within_the_limits(sizes: list[int]) -> None:
    events = [{"n": number, "text": "x" * size} for number, size in enumerate(sizes)]

    packed = pack(Envelope("chat", "c", NOW, events))

    assert [event for part in packed for event in decode(part.body).events] == events
    assert [index for part in packed for index in part.indexes] == list(range(len(events)))
    assert all(len(part.indexes) <= MAX_EVENTS and len(part.body) <= MAX_BYTES for part in packed)


def without(field: str) -> dict[str, Any]:
    return {name: value for name, value in GOOD.items() if name != field}


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"\xff\xfe", "not_text"),
        (b"", "not_json"),
        (b"{", "not_json"),
        (b'{"v": NaN}', "not_json"),
        (b"[" * 100_000, "not_json"),
        (b'{"v": ' + b"9" * 5000 + b"}", "not_json"),
        (b"[]", "not_an_envelope"),
        (b"{}", "not_an_envelope"),
        (json.dumps(GOOD | {"v": "1"}), "not_an_envelope"),
        (json.dumps(GOOD | {"v": True}), "not_an_envelope"),
        (json.dumps(GOOD | {"v": 2}), "newer_version"),
        (json.dumps(without("stream")), "missing_field"),
        (json.dumps(without("correlationId")), "missing_field"),
        (json.dumps(without("acceptedAt")), "missing_field"),
        (json.dumps(without("events")), "missing_field"),
        (json.dumps(GOOD | {"stream": 1}), "not_an_envelope"),
        (json.dumps(GOOD | {"acceptedAt": "today"}), "invalid_event"),
        (json.dumps(GOOD | {"events": {}}), "not_an_envelope"),
        (json.dumps(GOOD | {"events": [1]}), "not_an_envelope"),
        (json.dumps(GOOD | {"events": []}), "no_events"),
    ],
)
def test_a_body_that_is_no_envelope_is_poison_with_a_reason(body: bytes | str, reason: str) -> None:
    with pytest.raises(PoisonRecord) as caught:
        decode(body)

    assert caught.value.reason == reason
    assert reason in POISON_REASONS


@given(st.binary(max_size=200))
def test_any_bytes_are_an_envelope_or_poison(body: bytes) -> None:
    with pytest.raises(PoisonRecord):
        decode(body)
