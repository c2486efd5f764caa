"""The id of a room says where its messages are."""

from __future__ import annotations

from collections import Counter

import pytest

from headrace.core.keys import timestamp_sk
from headrace.core.times import iso
from headrace.streams.chat.room_shards import partition_of, partitions_of, room_of, shard_count, shown, stored

KEYS = [timestamp_sk(iso(1_763_719_258_000_000 + number), f"m-{number}", "a" * 12) for number in range(4000)]


@pytest.mark.parametrize(("room_id", "count"), [("stadium~2", 2), ("a~b~4", 4), ("stadium~8", 8), ("~16", 16)])
def test_messages_of_a_room_with_shards_are_evenly_in_its_partitions(room_id: str, count: int) -> None:
    assert shard_count(room_id) == count

    found = Counter(partition_of(room_id, key) for key in KEYS)

    assert sorted(found) == partitions_of(room_id)
    assert max(found.values()) < 1.25 * len(KEYS) / count
    assert {room_of(each) for each in found} == {room_id}


@pytest.mark.parametrize(
    "room_id", ["stadium", "~", "stadium~", "stadium~1", "stadium~08", "stadium~8 ", "~8~x", "я~３"]
)
def test_all_other_rooms_have_one_partition_with_their_id(room_id: str) -> None:
    assert partitions_of(room_id) == [partition_of(room_id, KEYS[0])] == [room_of(room_id)] == [room_id]


@pytest.mark.parametrize("other", ["#changes#stadium~8", f"#reactions#stadium~8#{KEYS[0]}", "stadium~8#003"])
def test_what_is_no_room_is_a_partition_as_it_is(other: str) -> None:
    row = {"roomId": other, "timestampSk": KEYS[0]}

    assert partitions_of(other) == [other]
    assert stored(row) == row
    assert room_of(other) == ("stadium~8" if other == "stadium~8#003" else other)


def test_a_row_is_stored_as_another_one_and_shown_as_it_was() -> None:
    row = {"roomId": "stadium~8", "timestampSk": KEYS[0], "message": "hello"}

    there = stored(row)

    assert row["roomId"] == "stadium~8"
    assert there["roomId"] in partitions_of("stadium~8")
    assert shown(there) == row
    assert stored(row | {"roomId": "attic"})["roomId"] == "attic"
    assert shown({"message": "hello"}) == {"message": "hello"}


def test_the_place_of_a_message_never_changes() -> None:
    """Rows that are stored already are found only in the same place."""
    key = "2025-11-21T10:00:58.722861Z#m-1#fpmansl7byak"

    found = [partition_of(f"stadium~{count}", key) for count in (2, 4, 8, 16)]

    assert found == ["stadium~2#000", "stadium~4#000", "stadium~8#004", "stadium~16#012"]
