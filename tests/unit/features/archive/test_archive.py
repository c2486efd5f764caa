"""P16: the archive brings back exactly what a table has, and once it is tidied, it holds nothing more."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.core.errors import StoreUnavailable
from headrace.core.items import Item
from headrace.core.stream import ArchivedTable
from headrace.features.archive import tidier
from headrace.features.archive.archiver import Archiver
from headrace.features.archive.bucket import NEW, Newest, folder_of, unpack
from headrace.features.archive.tidier import LOCK, Tidier
from headrace.storage.dynamodb.client import from_wire, to_wire
from tests.fakes.storage import MemoryObjects

IDS = ("a", "b", "c")
HOURS = ("2026-11-27T10", "2026-11-28T00", "")
NOTES = ArchivedTable("notes", "sheets", lambda row: str(row["hour"]))


class Stage:
    """A table of notes with its stream, and its archive."""

    def __init__(self) -> None:
        self.rows: dict[str, Item] = {}
        self.records: list[dict[str, Any]] = []
        self.archived = 0
        self.objects = MemoryObjects()
        self.archiver = Archiver(self.objects, {frozenset(("id",)): NOTES})
        self.tidier = Tidier(self.objects, sleep=lambda _: None)

    def put(self, id_: str, text: str, hour: str = HOURS[0]) -> None:
        self._change(id_, {"id": id_, "text": text, "hour": hour})

    def delete(self, id_: str) -> None:
        if id_ in self.rows:
            self._change(id_, None)

    def _change(self, id_: str, after: Item | None) -> None:
        before, images = self.rows.pop(id_, None), {}
        if before is not None:
            images["OldImage"] = to_wire(before)
        if after is not None:
            images["NewImage"] = to_wire(after)
            self.rows[id_] = after
        number = len(self.records) + 1
        change = {"ApproximateCreationDateTime": 1763719259.0, "Keys": to_wire({"id": id_}), **images}
        change["SequenceNumber"] = str(number)
        self.records.append({"eventID": f"{number:032}", "dynamodb": change})

    def archive(self, most: int = 1000) -> None:
        """Archive the next records, at most so many in a batch."""
        while batch := self.records[self.archived : self.archived + most]:
            self.archiver.archive({"Records": batch}, "i-1")
            self.archived += len(batch)

    def tidy(self) -> None:
        self.tidier.run(lambda: 100.0)

    def texts(self) -> list[str]:
        """The texts of all lines."""
        lines = [line for name, body in self.objects.objects.items() if name != LOCK for line in unpack(body)]
        return sorted(from_wire(line["NewImage"])["text"] for line in lines if "NewImage" in line)

    def replayed(self) -> dict[str, Item]:
        """The rows that a replay into an empty table makes, folder by folder."""
        folders: dict[str, list[bytes]] = {}
        for name, body in self.objects.objects.items():
            folders.setdefault(folder_of(name), []).append(body)
        found: dict[str, Item] = {}
        for bodies in folders.values():
            newest = Newest()
            lines = [line for body in bodies for line in unpack(body)]
            newest.add(lines)
            for line in newest.rows(lines):
                row = from_wire(line["NewImage"])
                assert found.setdefault(row["id"], row) == row
        return found


@pytest.fixture
def stage() -> Stage:
    return Stage()


CHANGE = st.tuples(st.sampled_from(IDS), st.sampled_from([*HOURS, None]))


STEP = st.one_of(CHANGE, st.sampled_from(["archive", "again", "tidy", "stop"]))


@given(st.lists(STEP, max_size=40), st.integers(1, 9))
def test_it_brings_back_what_the_table_has_whatever_was_changed_repeated_or_stopped(
    steps: list[Any], most: int
) -> None:
    stage = Stage()
    for step in steps:
        match step:
            case "archive":
                stage.archive(most)
            case "again":  # a mapping that lost the answers of its last batches
                stage.archived = max(stage.archived - most, 0)
            case "tidy":
                stage.tidy()
            case "stop":
                stage.objects.calls_left = most
                with suppress(StoreUnavailable):
                    stage.tidy()
                stage.objects.calls_left = 10**9
                stage.objects.delete(LOCK)
            case (id_, None):
                stage.delete(id_)
            case (id_, hour):
                stage.put(id_, f"text {len(stage.records)}", hour)
    stage.archive(most)

    assert stage.replayed() == stage.rows
    stage.tidy()
    assert stage.replayed() == stage.rows
    assert stage.texts() == sorted(row["text"] for row in stage.rows.values())
    assert not any(name.startswith(NEW) or name == LOCK for name in stage.objects.objects)


def test_objects_are_in_folders_of_their_stream_and_hour(stage: Stage) -> None:
    stage.put("a", "hello", "2026-11-27T10")
    stage.put("b", "a marker", "")
    stage.archive()
    number = "1".zfill(40) + "-" + "2".zfill(40) + "-00000000.jsonl.gz"
    assert sorted(stage.objects.objects) == [f"new/notes/2026-11-27/10/{number}", f"new/notes/sheets/{number}"]

    stage.tidy()

    first, second = sorted(stage.objects.objects)
    assert (folder_of(first), folder_of(second)) == ("notes/2026-11-27/10/", "notes/sheets/")
    (line,) = unpack(stage.objects.objects[second])
    assert line == {
        "Table": "sheets",
        "SequenceNumber": "2",
        "Time": "2025-11-21T10:00:59.000000Z",
        "Keys": {"id": {"S": "b"}},
        "NewImage": to_wire({"id": "b", "text": "a marker", "hour": ""}),
    }


def test_a_folder_has_few_objects_though_it_gets_one_each_minute(stage: Stage) -> None:
    for number in range(100):
        stage.put(f"row {number}", f"text {number}")
        stage.archive()
        if number % 7 == 0:
            stage.tidy()
    stage.tidy()

    assert len(stage.objects.objects) == 1
    assert stage.replayed() == stage.rows


def test_a_large_object_is_rewritten_only_if_a_line_of_it_is_replaced(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tidier, "SMALL_BYTES", 1)
    for id_ in ("a", "b"):
        stage.put(id_, "first")
        stage.archive()
        stage.tidy()
    before = dict(stage.objects.objects)
    assert len(before) == 2

    stage.put("a", "second")
    stage.archive()
    stage.tidy()

    assert len(stage.objects.objects) == 2
    assert len(before.items() & stage.objects.objects.items()) == 1
    assert stage.replayed() == stage.rows


def test_a_tidier_waits_while_another_one_works(stage: Stage) -> None:
    stage.put("a", "first")
    stage.archive()
    stage.objects.lock(LOCK, 1)
    left = iter([100.0, 100.0, 0.0])
    waits: list[float] = []

    Tidier(stage.objects, sleep=waits.append).run(lambda: next(left))

    assert len(waits) == 3
    assert all(name == LOCK or name.startswith(NEW) for name in stage.objects.objects)


def test_a_tidier_that_has_no_more_time_lets_the_next_one_go_on(stage: Stage) -> None:
    for hour in HOURS:
        stage.put(hour, hour, hour)
    stage.archive()

    stage.tidier.run(lambda: 0.0)

    assert sorted(stage.objects.objects)[0].startswith(NEW)
    assert LOCK not in stage.objects.objects
    assert sum(name.startswith(NEW) for name in stage.objects.objects) == 2


def test_a_folder_that_always_has_new_objects_keeps_no_other_one_waiting(stage: Stage) -> None:
    for hour in HOURS[:2]:
        stage.put(hour, "first", hour)
    stage.archive()
    left = iter([*[100.0] * 5, 0.0])

    def remaining() -> float:
        stage.put("busy", "again")
        stage.archive()
        return next(left)

    stage.tidier.run(remaining)

    assert {folder_of(name) for name in stage.objects.objects if name.startswith(NEW)} == {"notes/2026-11-27/10/"}
