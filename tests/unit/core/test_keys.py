"""Ids, sort keys, shards and sender tags."""

from __future__ import annotations

import base64
import hashlib
import unicodedata
from collections import Counter

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from headrace.core import items, keys, times
from headrace.queues import names

MICROS = st.integers(min_value=0, max_value=253_402_300_799_999_999)
IDS = st.text(
    st.characters(exclude_categories=("Cc", "Cs"), exclude_characters="#"), min_size=1, max_size=keys.ID_LIMIT
).filter(lambda text: len(unicodedata.normalize("NFC", text)) <= keys.ID_LIMIT)
TAGS = st.text(min_size=1, max_size=20).map(keys.sender_tag)


@given(MICROS, IDS, TAGS)
def test_a_sort_key_is_parsed_into_its_parts(micros: int, message_id: str, tag: str) -> None:
    key = keys.timestamp_sk(times.iso(micros), message_id, tag)

    assert keys.parse_timestamp_sk(key) == (times.iso(micros), message_id, tag)


@given(MICROS, MICROS, IDS, IDS, TAGS, TAGS)
def test_sort_keys_are_in_time_order(one: int, other: int, id1: str, id2: str, tag1: str, tag2: str) -> None:
    assume(one != other)
    first = keys.timestamp_sk(times.iso(one), id1, tag1)
    second = keys.timestamp_sk(times.iso(other), id2, tag2)

    assert (first < second) == (one < other)
    assert (first.encode() < second.encode()) == (first < second)


@given(MICROS, MICROS, IDS, TAGS)
def test_a_range_holds_its_start_and_not_its_end(bound: int, at: int, message_id: str, tag: str) -> None:
    """Fault 11: an event at exactly the end of a range."""
    key = keys.timestamp_sk(times.iso(at), message_id, tag)

    assert (key >= times.iso(bound)) == (at >= bound)
    assert (key <= times.iso(bound)) == (at < bound)


@given(IDS)
def test_an_id_is_unchanged_except_for_nfc(text: str) -> None:
    normal = keys.normalize_id(text)

    assert normal == unicodedata.normalize("NFC", text)
    assert keys.normalize_id(normal) == normal


@pytest.mark.parametrize("text", ["a/b", "/", "a?b", "?", ".", ".."])
def test_a_new_id_has_nothing_that_a_path_could_be_split_at(text: str) -> None:
    """An id that ended or split a path would act on another room or user."""
    assert keys.normalize_id(text) == text
    with pytest.raises(ValueError, match=r"contains '[/?]'|is '\.\.?'"):
        keys.new_id(text)


@pytest.mark.parametrize("text", ["a\\b", "|a|", "[a]", "{a}", "a^", "100%", "a%2Fb", "...", ".a", "a b", "café"])
def test_a_new_id_may_have_what_nicknames_have(text: str) -> None:
    assert keys.new_id(text) == text


@given(IDS, IDS, TAGS)
def test_every_key_of_allowed_ids_is_within_the_limits_of_the_table(room: str, message_id: str, tag: str) -> None:
    sort_key = keys.timestamp_sk(times.iso(0), keys.normalize_id(message_id), tag)

    items.check({"roomId": keys.normalize_id(room), "timestampSk": sort_key}, "roomId", "timestampSk")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "is empty"),
        ("a#b", "contains '#'"),
        ("a" * 129, "is longer than 128 characters"),
        ("ß" * 129, "is longer than 128 characters"),
        ("é" * 10_000, "is longer than 128 characters"),
        ("a\nb", "contains a control character"),
        ("a\x00", "contains a control character"),
        ("ä\x7f", "contains a control character"),
        ("\x85", "contains a control character"),
        ("\ud800", "contains a control character"),
    ],
)
def test_an_id_that_is_not_allowed_in_a_key_is_refused_with_the_reason(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        keys.normalize_id(text)


@pytest.mark.parametrize("text", ["a" * 128, "部屋", "غرفة", "👩‍👩‍👧", "a b", "`[]\\^{}|_-", "e\u0301" * 128])
def test_ids_of_any_script_are_accepted(text: str) -> None:
    assert keys.normalize_id(text)


@pytest.mark.parametrize("key", ["", "a", "a#b#c", f"{times.iso(0)}#m", f"{times.iso(0)}##{keys.sender_tag('a')}"])
def test_an_invalid_sort_key_is_not_parsed(key: str) -> None:
    with pytest.raises(ValueError):
        keys.parse_timestamp_sk(key)


@given(IDS, st.integers(min_value=1, max_value=64))
def test_a_replayed_event_has_the_same_shard_and_the_same_queue(event_id: str, count: int) -> None:
    """Fault 6: a random shard per write."""
    assert keys.bucket_id(event_id, count) == keys.bucket_id(event_id, count)
    assert keys.bucket_id(event_id, count) in keys.shard_names(count)
    assert names.queue_name("chat", event_id, {"chat": count}) in names.persist_queues({"chat": count})


@given(st.text(max_size=50))
def test_a_tag_is_the_beginning_of_the_hash_in_base32(subject: str) -> None:
    encoded = subject.encode("utf-8", "surrogatepass")
    assume(encoded == subject.encode("utf-8", "replace"))

    assert keys.sender_tag(subject) == base64.b32encode(hashlib.sha256(encoded).digest())[:12].decode().lower()


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=50), min_size=1, max_size=4))
def test_a_derived_id_is_the_beginning_of_the_hash_of_its_parts_in_base32(parts: list[str]) -> None:
    hashed = hashlib.sha256("#".join(parts).encode()).digest()

    assert keys.derived_id(*parts) == base64.b32encode(hashed)[:26].decode().lower()


def test_hashes_are_the_same_in_every_process_and_version() -> None:
    assert keys.bucket_id("m-1", 8) == "005"
    assert names.queue_name("chat", "m-1", {"chat": 4}) == "persist.chat.0"
    assert keys.sender_tag("alice") == "fpmansl7byak"


def test_events_of_one_queue_spread_over_all_shards() -> None:
    ids = [times.new_message_id(number * 1000) for number in range(4000)]

    spread = Counter((names.queue_name("chat", each, {"chat": 4}), keys.bucket_id(each, 8)) for each in ids)

    assert len(spread) == 32
    assert max(spread.values()) < 2 * min(spread.values())
