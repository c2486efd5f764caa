"""P14: others are told of every stored change at least once, and of those of one key in the order of storing."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.core.items import Item
from headrace.core.stream import Told
from headrace.features.tell.targets import AT_ONCE
from headrace.features.tell.teller import Teller
from headrace.storage.dynamodb.client import to_wire
from tests.fakes.queues import MemoryRetryLane
from tests.fakes.tell import MemoryTarget

KEYS = [f"m-{number}" for number in range(4)]


def tell(_before: Item | None, after: Item) -> Told | None:
    """What is told of a row of these tests: its text, unless it is empty."""
    return (
        Told(f"note.{after['kind']}", f"{after['room']}#{after['id']}", {"text": after["text"]})
        if after["text"]
        else None
    )


class Stage:
    """A table of notes with its stream, and what tells others of it."""

    def __init__(self, *wanted: str) -> None:
        self.records: list[dict[str, Any]] = []
        self.rows: dict[str, Item] = {}
        self.target = MemoryTarget()
        self.untold = MemoryRetryLane()
        streams = {frozenset(("room", "id")): [("notes", tell)]}
        self.teller = Teller(self.target, streams, wanted or ("notes",), "headrace-test", self.untold)

    def put(self, id_: str, text: str, kind: str = "stored") -> None:
        before, after = self.rows.get(id_), {"room": "kitchen", "id": id_, "text": text, "kind": kind}
        images = {"NewImage": to_wire(after), **({"OldImage": to_wire(before)} if before else {})}
        self.rows[id_] = after
        self.add("MODIFY" if before else "INSERT", id_, **images)

    def add(self, name: str, id_: str, **images: Any) -> None:
        number = len(self.records)
        keys = to_wire({"room": "kitchen", "id": id_})
        change = {
            "ApproximateCreationDateTime": 1763719259.0,
            "Keys": keys,
            "SequenceNumber": f"{number:021}",
            **images,
        }
        arn = "arn:aws:dynamodb:us-east-1:123456789012:table/Notes/stream/2025"
        record = {"eventID": f"e{number}", "eventName": name, "eventSourceARN": arn, "dynamodb": change}
        self.records.append(record)

    def hand_over(self, batch: list[dict[str, Any]], seconds: float = 30.0) -> list[dict[str, Any]]:
        """Invoke the function as a mapping does; the records that it comes again with."""
        failures = self.teller.tell({"Records": batch}, lambda: seconds, "i-1")["batchItemFailures"]
        if not failures:
            return []
        numbers = [record["dynamodb"]["SequenceNumber"] for record in batch]
        return batch[numbers.index(failures[0]["itemIdentifier"]) :]

    @property
    def told(self) -> list[dict[str, Any]]:
        return [json.loads(each.body) for each in self.target.taken]


def test_an_event_says_what_was_stored_where_and_when() -> None:
    stage = Stage()
    stage.put("m-1", "Grüße")

    assert stage.hand_over(stage.records) == []
    (announcement,) = stage.target.taken
    assert stage.told == [
        {
            "id": "e0",
            "type": "note.stored",
            "time": "2025-11-21T10:00:59.000000Z",
            "stage": "headrace-test",
            "stream": "notes",
            "key": "kitchen#m-1",
            "sequence": "000000000000000000000",
            "data": {"text": "Grüße"},
        }
    ]
    assert announcement.body.isascii()
    assert (announcement.id, announcement.type, announcement.group) == ("e0", "note.stored", "notes#kitchen")


@pytest.mark.parametrize(
    ("wanted", "types"),
    [
        (("notes",), ["note.stored", "note.edited"]),
        (("note.edited",), ["note.edited"]),
        (("chat", "note.stored"), ["note.stored"]),
        (("chat",), []),
    ],
)
def test_only_what_is_wanted_is_told(wanted: tuple[str, ...], types: list[str]) -> None:
    stage = Stage(*wanted)
    stage.put("m-1", "hello")
    stage.put("m-1", "moin", "edited")

    assert stage.hand_over(stage.records) == []
    assert [each["type"] for each in stage.told] == types


def test_a_row_that_expires_is_not_told() -> None:
    """Nobody deletes the rows of events: what people delete becomes a stub."""
    stage = Stage()
    stage.add("REMOVE", "m-1", OldImage=to_wire({"room": "kitchen", "id": "m-1", "text": "hello"}))

    assert stage.hand_over(stage.records) == []
    assert stage.told == []


def test_a_target_that_is_away_is_asked_once_in_a_batch() -> None:
    stage = Stage()
    for number in range(100):
        stage.put(f"m-{number}", "hello")
    stage.target.down = True

    assert stage.hand_over(stage.records) == stage.records
    assert stage.target.calls == 1
    stage.target.down = False
    assert stage.hand_over(stage.records) == []
    assert stage.target.calls == 1 + 100 / AT_ONCE


def test_what_there_is_no_time_for_comes_again() -> None:
    """A function that times out would tell all of it again."""
    stage = Stage()
    stage.put("m-1", "hello")

    assert stage.hand_over(stage.records, seconds=9) == stage.records
    assert stage.target.calls == 0


def test_texts_that_are_large_together_go_in_several_calls() -> None:
    stage = Stage()
    for number in range(10):
        stage.put(f"m-{number}", "\x00" * 8000)

    assert stage.hand_over(stage.records) == []
    assert stage.target.calls == 2


def test_a_record_that_cannot_be_read_stops_no_other_and_its_place_is_kept() -> None:
    stage = Stage()
    stage.put("m-1", "hello")
    stage.add("INSERT", "m-2", NewImage=to_wire({"id": "m-2", "secret": "pssst"}))
    stage.put("m-3", "hello")

    assert stage.hand_over(stage.records) == []
    assert [each["id"] for each in stage.told] == ["e0", "e2"]
    (kept,) = stage.untold.records
    assert b"pssst" not in kept.body
    assert json.loads(kept.body) == {
        "eventID": "e1",
        "eventSourceARN": stage.records[1]["eventSourceARN"],
        "Keys": to_wire({"room": "kitchen", "id": "m-2"}),
        "SequenceNumber": "000000000000000000001",
    }


def test_a_record_that_cannot_be_read_waits_while_its_place_cannot_be_kept() -> None:
    stage = Stage()
    stage.put("m-1", "hello")
    stage.add("INSERT", "m-2", NewImage=to_wire({"id": "m-2"}))
    stage.put("m-3", "hello")
    stage.untold.down = True

    left = stage.hand_over(stage.records)

    assert left == stage.records[1:]
    assert [each["id"] for each in stage.told] == ["e0"]
    stage.untold.down = False
    assert stage.hand_over(left) == []
    assert [each["id"] for each in stage.told] == ["e0", "e2"]


@given(
    changes=st.lists(st.sampled_from(KEYS), min_size=1, max_size=60),
    refusals=st.lists(st.tuples(st.integers(0, 59), st.booleans()), max_size=12),
    size=st.integers(1, 30),
)
def test_in_any_order_of_changes_and_refusals_nothing_is_lost_and_each_key_stays_in_order(
    changes: list[str], refusals: list[tuple[int, bool]], size: int
) -> None:
    """A refusal can be of a call that was taken nevertheless."""
    stage = Stage()
    for number, key in enumerate(changes):
        stage.put(key, f"{number}")
    left = list(stage.records)
    while left:
        refused = refusals.pop() if refusals else (-1, False)
        stage.target.refuses = lambda each, refused=refused: each.id == f"e{refused[0]}"
        stage.target.kept = refused[1]
        batch, rest = left[:size], left[size:]
        left = stage.hand_over(batch) + rest

    assert {each["id"] for each in stage.told} == {record["eventID"] for record in stage.records}
    for key in set(changes):
        numbers = [each["sequence"] for each in stage.told if each["key"] == f"kitchen#{key}"]
        assert numbers == sorted(numbers)
