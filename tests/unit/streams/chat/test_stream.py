"""Messages: which events are accepted or refused, and their stored rows."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.core import keys, times
from headrace.core.errors import InvalidEvent, PoisonRecord
from tests.worlds.senders import CHAT, CLOCK, NOW, TABLE, message, sender


def refused(raw: object, **of: Any) -> dict[str, tuple[str, object, str | None]]:
    with pytest.raises(InvalidEvent) as caught:
        CHAT.accept(raw, sender(**of))
    return {each.field: (each.message, each.got, each.allowed) for each in caught.value.details}


def test_a_message_keeps_the_senders_id_and_time() -> None:
    stamped = CHAT.accept(message(), sender())

    assert stamped.receipt == {"roomId": "kitchen", "messageId": "m-1", "timestamp": NOW}
    assert stamped.event == {
        **stamped.receipt,
        "userId": "alice",
        "username": "Alice",
        "message": "hello",
        "messageType": "TEXT",
        "sender": keys.content_tag("alice", "alice", "", "TEXT", "hello"),
    }


@pytest.mark.parametrize("fields", [{"message": "bye"}, {"userId": "bob"}, {"messageType": "JOIN"}, {"username": "Al"}])
def test_other_content_with_the_same_id_and_time_is_another_event(fields: dict[str, Any]) -> None:
    """P3: nothing is replaced, both are stored."""
    trusted = sender(trusted=True)

    assert CHAT.accept(message(**fields), trusted).key != CHAT.accept(message(), trusted).key


def test_a_new_username_in_the_token_makes_no_other_event() -> None:
    renamed = replace(sender(), username="Alice Liddell")

    assert CHAT.accept(message(), renamed).key == CHAT.accept(message(), sender()).key


def test_an_event_without_a_time_has_the_time_in_its_uuid7() -> None:
    inside = times.micros_of(NOW) // 1000 * 1000 - times.HOUR
    message_id = times.new_message_id(inside)

    assert CHAT.accept(message(messageId=message_id, timestamp=None), sender()).receipt["timestamp"] == times.iso(
        inside
    )


@pytest.mark.parametrize(
    ("given", "field"), [({"memberName": "Bob"}, "memberName"), ({"messageType": "TEXT"}, "memberId")]
)
def test_the_name_of_a_member_needs_the_member_beside_it(given: dict[str, str], field: str) -> None:
    """``memberName`` alone once named the sender."""
    raw = message(messageType="JOIN", memberId=None if field == "memberName" else "bob") | given

    with pytest.raises(InvalidEvent) as refused:
        CHAT.accept(raw, sender(trusted=True))

    assert [detail.field for detail in refused.value.details] == [field]


def test_an_event_with_neither_time_has_the_servers() -> None:
    stamped = CHAT.accept({"roomId": "kitchen", "message": "hello"}, sender())

    assert stamped.receipt["timestamp"] == NOW
    assert times.uuid7_micros(stamped.receipt["messageId"]) == CLOCK.now() // 1000 * 1000


def test_events_of_one_request_without_times_keep_their_order() -> None:
    one = sender()
    stamped = [CHAT.accept({"roomId": "kitchen", "message": str(number)}, one) for number in range(50)]

    assert sorted(stamped, key=lambda each: each.key) == stamped


def test_an_id_of_ones_own_needs_a_time() -> None:
    """Sent again, it would be another message; one in a UUIDv7 is a time, and without an id each is another one."""
    with pytest.raises(InvalidEvent) as refused:
        CHAT.accept(message(timestamp=None), sender())

    (detail,) = refused.value.details
    assert (detail.field, detail.message) == ("timestamp", "is missing beside messageId")
    assert detail.allowed == "the time of the event; or a UUIDv7 as messageId, or no messageId"
    assert CHAT.accept(message(timestamp=None, messageId=None), sender())


@pytest.mark.parametrize(
    ("offset", "trusted", "taken"),
    [
        (5 * times.MINUTE, False, True),
        (5 * times.MINUTE + 1, False, False),
        (5 * times.MINUTE + 1, True, False),
        (-24 * times.HOUR, False, True),
        (-24 * times.HOUR - 1, False, False),
        (-20 * 365 * times.DAY, True, True),
    ],
)
@pytest.mark.parametrize("field", ["timestamp", "messageId"])
def test_a_time_is_bounded_ahead_for_all_and_in_age_for_the_untrusted(
    field: str, offset: int, trusted: bool, taken: bool
) -> None:
    at = CLOCK.now() + offset
    if field == "messageId":
        # A UUIDv7 holds milliseconds: move to the one that is on the same side of the bound.
        at = at // 1000 * 1000 if offset in (5 * times.MINUTE, -24 * times.HOUR - 1) else (at // 1000 + 1) * 1000
        raw = message(messageId=times.new_message_id(at), timestamp=None)
    else:
        raw = message(timestamp=times.iso(at))

    if taken:
        CHAT.accept(raw, sender(trusted=trusted))
    else:
        what, _, allowed = refused(raw, trusted=trusted)[field]
        assert what in ("is too far ahead", "is too old")
        assert NOW in (allowed or "")


def test_only_a_trusted_producer_may_name_another_user() -> None:
    """P12: user id and username come from the token."""
    raw = message(userId="bob", username="Bob")

    trusted = CHAT.accept(raw, sender(trusted=True))

    assert (trusted.event["userId"], trusted.event["username"]) == ("bob", "Bob")
    assert refused(raw)["userId"][0] == "is not the token's"
    assert refused(message(username="Bob"))["username"][0] == "is not the token's"


@pytest.mark.parametrize(
    ("fields", "field", "what", "got"),
    [
        ({"roomId": "a#b"}, "roomId", "contains '#'", "a#b"),
        ({"roomId": ""}, "roomId", "is empty", ""),
        ({"roomId": 7}, "roomId", "is not a text", 7),
        ({"messageId": "x" * 129}, "messageId", "is longer than 128 characters", "x" * 64 + "…"),
        ({"message": "x" * 4097}, "message", "is longer than 4096 bytes", "x" * 64 + "…"),
        ({"message": "é" * 2049}, "message", "is longer than 4096 bytes", "é" * 64 + "…"),
        ({"message": None}, "message", "is not a text", None),
        ({"message": "\ud800"}, "message", "is not valid Unicode", "?"),
        ({"timestamp": "yesterday"}, "timestamp", "is not a time with a zone", "yesterday"),
        ({"messageType": "SHOUT"}, "messageType", "is not one of the allowed values", "SHOUT"),
        ({"messageType": {}}, "messageType", "is not one of the allowed values", "an object with 0 fields"),
    ],
)
def test_a_refused_field_is_named_with_what_came_and_what_is_allowed(
    fields: dict[str, Any], field: str, what: str, got: object
) -> None:
    message_given, got_given, allowed = refused(message(**fields))[field]

    assert (message_given, got_given) == (what, got)
    assert allowed


def test_every_wrong_field_is_named_at_once() -> None:
    assert set(refused({"roomId": "#", "timestamp": 1.5})) == {"roomId", "message", "timestamp"}


@pytest.mark.parametrize("raw", [None, 7, "text", [], [message()]])
def test_a_value_that_is_no_object_is_refused(raw: object) -> None:
    assert refused(raw)["event"][2] == "a JSON object"


@pytest.mark.parametrize("text", ["", " ", "\x00\x01\x1f", "x" * 4096, "é" * 2048, "👩‍👩‍👧", "\u202e", "\n\r\t"])
def test_any_text_up_to_the_limit_arrives_as_it_was_sent(text: str) -> None:
    stamped = CHAT.accept(message(message=text), sender())

    assert CHAT.item(stamped.event, CLOCK.now(), TABLE)["message"] == text


def test_the_retention_of_an_old_event_counts_from_its_acceptance() -> None:
    old = CHAT.accept(message(timestamp="2004-11-15T03:00:00Z"), sender(trusted=True))

    assert CHAT.item(old.event, CLOCK.now(), TABLE)["expiresAt"] == CLOCK.now() // times.SECOND + 30 * 86400


def test_a_row_has_the_keys_of_all_indexes() -> None:
    old = CHAT.accept(message(timestamp="2004-11-15T03:00:00Z"), sender(trusted=True))

    row = CHAT.item(old.event, CLOCK.now(), TABLE)

    assert row["timestampSk"] == f"2004-11-15T03:00:00.000000Z#m-1#{old.event['sender']}"
    assert row["bucketId"] == keys.bucket_id("m-1", 8)
    assert {CHAT.partition_key, CHAT.sort_key} <= row.keys()
    assert all({index.partition_key, index.sort_key} <= row.keys() for index in CHAT.indexes if not index.sparse)


def test_a_row_without_a_retention_never_expires() -> None:
    stamped = CHAT.accept(message(), sender())

    assert "expiresAt" not in CHAT.item(stamped.event, CLOCK.now(), replace(TABLE, retention_days=0))


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"roomId": None}, "invalid_event"),
        ({"roomId": ""}, "empty_key"),
        ({"messageId": "a#b"}, "invalid_key"),
        ({"timestamp": "2025-11-21T10:00:58Z"}, "invalid_key"),
        ({"sender": "me"}, "invalid_key"),
        ({"messageType": "SHOUT"}, "invalid_event"),
        ({"userId": ""}, "empty_key"),
        ({"userId": "я" * 1025}, "invalid_key"),
        ({"userId": 1}, "invalid_event"),
        ({"message": []}, "invalid_event"),
    ],
)
def test_a_stamped_event_that_cannot_be_a_row_is_poison_with_a_reason(fields: dict[str, Any], reason: str) -> None:
    event = CHAT.accept(message(), sender()).event | fields

    with pytest.raises(PoisonRecord) as caught:
        CHAT.item(event, CLOCK.now(), TABLE)

    assert caught.value.reason == reason
    assert caught.value.details


def test_a_stamped_event_without_a_field_is_poison_with_the_field() -> None:
    event = CHAT.accept(message(), sender()).event
    del event["roomId"]

    with pytest.raises(PoisonRecord) as caught:
        CHAT.item(event, CLOCK.now(), TABLE)

    assert caught.value.reason == "missing_field"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda each: st.lists(each) | st.dictionaries(st.text(), each),
    max_leaves=5,
)
FIELDS = ("roomId", "message", "messageId", "timestamp", "messageType", "userId", "username")


@given(st.fixed_dictionaries({}, optional=dict.fromkeys(FIELDS, JSON)))
def test_any_input_is_a_storable_event_or_an_invalid_one(raw: dict[str, Any]) -> None:
    with contextlib.suppress(InvalidEvent):
        CHAT.item(CHAT.accept(raw, sender(trusted=True)).event, CLOCK.now(), TABLE)


@pytest.mark.parametrize("field", ["roomId", "messageId", "userId"])
@pytest.mark.parametrize("value", ["a/b", "a?b", ".", ".."])
def test_an_id_that_could_split_a_path_is_refused_by_name(field: str, value: str) -> None:
    ((message_, got, allowed),) = refused(message(**{field: value}), trusted=True).values()

    assert message_.startswith(("contains", "is"))
    assert (got, allowed) == (value, keys.NEW_ID_FORM if field == "messageId" else keys.ID_FORM)


def test_an_event_that_was_accepted_with_such_an_id_is_still_stored() -> None:
    event = CHAT.accept(message(), sender()).event | {"roomId": "a/b", "messageId": "m?1", "userId": ".."}

    assert CHAT.item(event, CLOCK.now(), TABLE)["roomId"] == "a/b"
