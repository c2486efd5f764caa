"""An export has every row that names its user, and a room's has what its owner reads."""

from __future__ import annotations

import contextlib
import gzip
import json
from base64 import b64decode
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pytest

from headrace.core.times import iso
from headrace.features.attachments.files import file_name
from headrace.features.edits.change import fold
from headrace.features.people.erasures import Task as Erasure
from headrace.features.people.exports.exporter import beside_of
from headrace.features.people.exports.tasks import WITHDRAWN, Export, Task, folder_of
from headrace.features.people.hashes import ROOM, Person
from headrace.features.people.jobs import DONE, RUNNING
from headrace.storage.dynamodb.client import DynamoTable
from headrace.streams.chat.rooms.memberships import Change, membership_event
from tests.contract.erasure_world import ANN, NAMES, SKIER_ID, TABLES, World, fill
from tests.contract.tables import made
from tests.fakes.files import PNG
from tests.worlds.message_changes import CHANGES
from tests.worlds.senders import CHAT

NOW = "2025-11-21T10:00:58.722861Z"
KEYS = {each["TableName"]: [key["AttributeName"] for key in each["KeySchema"]] for each in TABLES}


@pytest.fixture
def world(dynalite: str) -> Iterator[World]:
    with made(*TABLES) as dynamodb:
        world = World(dynamodb)
        yield world
        world.dynamodb.close()


def of_ann(world: World, **more: Any) -> Task:
    return Task("user", ANN, str(SKIER_ID), iso(world.clock.now()), **more)


def found(world: World, task: Task) -> Export:
    export = world.exports.get(world.hashes.key(Person(task.kind, task.id)))
    assert export is not None
    return export


def lines_of(world: World, task: Task) -> list[dict[str, Any]]:
    """The lines of a done export, which is one file of gzip when its files are put together."""
    export = found(world, task)
    assert export.state == DONE
    lines = gzip.decompress(b"".join(world.files.objects[file.name] for file in export.files)).splitlines()
    assert sum(file.lines for file in export.files) == len(lines)
    assert [file.bytes for file in export.files] == [len(world.files.objects[file.name]) for file in export.files]
    return [json.loads(line) for line in lines]


def naming(world: World, *people: str) -> set[tuple[Any, ...]]:
    """The keys of all rows that have an id of these people in them."""
    return {
        (table, *(row[name] for name in KEYS[table]))
        for table in NAMES
        for row in world.rows(table)
        if any(person in json.dumps(row, default=str) for person in people)
    }


def exported(lines: list[dict[str, Any]]) -> set[tuple[Any, ...]]:
    tables = {"rooms": "ERooms", "connections": "EConnections", "clicks": "EClicks", "rides": "ERides"}
    tables |= dict.fromkeys(("messages", "notices", "changes", "reactions"), "EMessages")
    tables |= dict.fromkeys(("memberships", "invitations", "inviters", "blocks", "namedByOthers"), "EMemberships")
    return {
        (tables[line["kind"]], *(line["row"][name] for name in KEYS[tables[line["kind"]]]))
        for line in lines
        if line["kind"] != "manifest"
    }


@pytest.fixture
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages of one row, so that a slice ends in the middle of a source."""
    pages = DynamoTable._pages

    def small(self: DynamoTable, operation: Any, parameters: dict[str, Any], start: Any) -> Any:
        return pages(self, operation, parameters | {"Limit": 1}, start)

    monkeypatch.setattr(DynamoTable, "_pages", small)


@pytest.mark.parametrize("pages", [1000, 3])
def test_each_row_that_names_the_user_is_in_the_export_once_in_one_slice_or_in_many(
    world: World, request: pytest.FixtureRequest, pages: int
) -> None:
    fill(world)
    if pages == 3:
        request.getfixturevalue("small_pages")
    task = of_ann(world)

    world.export(task, pages)

    lines = lines_of(world, task)
    assert exported(lines) == naming(world, ANN, str(SKIER_ID))
    manifest = lines.pop()
    assert manifest["kind"] == "manifest"
    assert len({json.dumps(line, sort_keys=True) for line in lines}) == len(lines)
    counts = Counter(line["kind"] for line in lines)
    assert manifest["row"]["counts"] == found(world, task).counts == counts
    assert counts == {
        "blocks": 1,
        "changes": 1,
        "clicks": 1,
        "connections": 2,
        "invitations": 1,
        "inviters": 1,
        "memberships": 2,
        "messages": 4,
        "namedByOthers": 4,
        "notices": 2,
        "reactions": 1,
        "rides": 1,
        "rooms": 2,
    }
    assert (len(found(world, task).files) > 5) is (pages == 3)


def test_a_line_is_the_whole_row_but_of_others_only_what_names_the_user(world: World) -> None:
    rows = fill(world)
    task = of_ann(world)

    world.export(task)

    lines = lines_of(world, task)
    messages = [line["row"] for line in lines if line["kind"] == "messages"]
    mine = next(row for row in messages if row["messageId"] == rows[f"{ANN} writes"]["messageId"])
    assert (mine["message"], mine["firstText"]) == (f"edited by {ANN}", f"secret of {ANN}")
    (click,) = [line["row"] for line in lines if line["kind"] == "clicks"]
    assert click == {**rows[f"{ANN} clicks"]}
    others = [line["row"] for line in lines if line["kind"] == "namedByOthers"]
    assert {"userId": "bob", "roomId": "kitchen~4", "addedBy": ANN} in others
    assert {name for row in others for name in row} == {"userId", "roomId", "addedBy", "invitedBy"}
    text = json.dumps(lines)
    assert "secret of bob" not in text
    assert "edited by bob" not in text


def test_the_manifest_says_as_of_when_it_is_and_what_is_not_included(world: World) -> None:
    task = of_ann(world)

    world.export(task)

    (line,) = lines_of(world, task)
    manifest = line["row"]
    assert (manifest["userId"], manifest["counts"]) == (ANN, {})
    assert manifest["asOf"] < task.started_at <= manifest["doneAt"]
    assert all(each["what"] and each["why"] for each in manifest["notIncluded"])
    assert any("dead letters" in each["what"] for each in manifest["notIncluded"])


def test_an_interrupted_slice_is_repeated_and_a_task_delivered_twice_changes_nothing(
    world: World, small_pages: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(world)
    task = of_ann(world)
    put, interruptions = world.files.write, 0

    def stopping(name: str, body: bytes) -> None:
        """Store every file, but tell so only of every other one."""
        nonlocal interruptions
        put(name, body)
        if len(world.files.objects) % 2:
            interruptions += 1
            raise InterruptedError

    monkeypatch.setattr(world.files, "write", stopping)
    tasks = [task]
    while tasks:
        left = iter([100.0] * 3 + [0.0] * 100)
        with contextlib.suppress(InterruptedError):
            world.exporter.run(tasks[0], lambda left=left: next(left))
            tasks = [each for each, _ in world.export_tasks.sent]
            world.export_tasks.sent.clear()
    before = found(world, task)

    world.export(task)

    assert interruptions > 3
    assert found(world, task) == before
    assert exported(lines_of(world, task)) == naming(world, ANN, str(SKIER_ID))


def test_the_rows_of_exports_name_nobody(world: World) -> None:
    fill(world)

    world.export(of_ann(world))
    world.export(Task(ROOM, "kitchen~4", ANN, iso(world.clock.now())))

    assert not [row for row in world.rows("Erasures") if ANN in json.dumps(row, default=str)]
    assert not [row for row in world.rows("Erasures") if "kitchen~4" in json.dumps(row, default=str)]
    assert not [name for name in world.files.objects if ANN in name]


def test_the_export_of_a_room_is_what_its_owner_reads(world: World) -> None:
    rows = fill(world)
    deleted = rows["bob writes"]
    deletion = world.store(CHANGES, "bob", {"roomId": "kitchen~4", "key": deleted["timestampSk"], "change": "delete"})
    world.changes.apply("kitchen~4", deleted["timestampSk"], fold("bob", [deletion]), deletion["timestamp"])
    early = {"roomId": "kitchen~4", "message": "before ann came", "timestamp": "2025-11-20T00:00:00.000000Z"}
    world.store(CHAT, "bob", early, trusted=True)
    task = Task(ROOM, "kitchen~4", ANN, iso(world.clock.now()))

    world.export(task, 1)

    lines = lines_of(world, task)
    assert lines[0]["kind"] == "room"
    assert {line["row"]["userId"]: line["row"]["role"] for line in lines if line["kind"] == "members"} == {
        ANN: "owner",
        "bob": "member",
    }
    messages = {line["row"]["key"]: line["row"] for line in lines if line["kind"] == "messages"}
    assert messages[deleted["timestampSk"]]["message"] == ""
    assert messages[rows[f"{ANN} writes"]["timestampSk"]]["message"] == f"edited by {ANN}"
    assert len(messages) == 4
    text = json.dumps(lines)
    assert "before ann came" not in text
    assert "secret of" not in text
    assert lines[-1]["row"]["roomId"] == "kitchen~4"


def test_who_owns_the_room_no_more_gets_no_export_of_it(world: World) -> None:
    fill(world)
    task = Task(ROOM, "kitchen~4", "bob", iso(world.clock.now()))

    world.export(task)

    assert found(world, task).state == WITHDRAWN
    assert world.files.objects == {}


@pytest.mark.parametrize(
    ("asked", "other"),
    [
        (Task(ROOM, "kitchen~4", ANN, NOW), Task(ROOM, "kitchen~4", "bob", NOW)),
        (Task("user", ANN, "4", NOW), Task("user", ANN, None, NOW)),
    ],
    ids=["owner", "skier"],
)
def test_a_task_for_another_owner_or_skier_than_was_asked_for_writes_nothing(
    world: World, asked: Task, other: Task
) -> None:
    fill(world)
    beside = beside_of(world.hashes, asked.kind, asked.beside)
    begun = world.exports.begin(world.hashes.key(Person(asked.kind, asked.id)), NOW, beside)

    world.export(other)

    assert found(world, asked) == begun
    assert world.files.objects == {}
    world.export(asked)
    assert found(world, asked).state == DONE


def test_exports_have_the_files_which_go_with_their_user(world: World) -> None:
    """Of a user all, also those that no message names yet; of a room those of its messages."""
    fill(world)
    before, names = datetime.fromisoformat(iso(world.clock.now())), {}
    for by, id_, is_named in ((ANN, "a" * 26, True), (ANN, "b" * 26, False), ("bob", "c" * 26, True)):
        names[id_] = file_name(by, "kitchen~4", id_)
        world.uploads.put(names[id_], at=before)
        if is_named:
            named = {"id": id_, "name": "cat.png", "type": "image/png", "bytes": len(PNG)}
            world.store(CHAT, by, {"roomId": "kitchen~4", "message": "look", "attachments": [named]})
    mine, rooms = of_ann(world), Task(ROOM, "kitchen~4", ANN, iso(world.clock.now()))

    for task, ids in ((mine, "ab"), (rooms, "ac")):
        world.export(task)
        found = [line["row"] for line in lines_of(world, task) if line["kind"] == "attachments"]
        assert {row["id"]: b64decode(row["base64"]) for row in found} == {id_ * 26: PNG for id_ in ids}

    world.erase()
    assert world.uploads.objects.keys() == {names["c" * 26]}


def test_an_owner_who_left_exports_what_came_until_then_and_no_members(world: World) -> None:
    fill(world)
    left = membership_event(iso(world.clock.now()), "leave-a")
    world.memberships.add(Change(user_id=ANN, room_id="kitchen~4", kind="leave", event=left))
    world.clock.advance(1)
    later = world.store(CHAT, "bob", {"roomId": "kitchen~4", "message": "when ann was gone"})
    task = Task(ROOM, "kitchen~4", ANN, iso(world.clock.now()))

    world.export(task)

    lines = lines_of(world, task)
    assert {line["kind"] for line in lines} == {"room", "messages", "manifest"}
    assert later["timestampSk"] not in {line["row"].get("key") for line in lines}


def test_an_erasure_deletes_the_exports_that_the_user_is_in_and_no_others(world: World) -> None:
    fill(world)
    mine, rooms = of_ann(world), Task(ROOM, "hall", "bob", iso(world.clock.now()))
    bobs = Task("user", "bob", None, iso(world.clock.now()))
    for task in (mine, rooms, bobs):
        world.export(task)

    world.erase()

    assert {found(world, task).state for task in (mine, rooms)} == {WITHDRAWN}
    folder = folder_of(world.hashes.key(Person("user", "bob")))
    assert world.files.objects.keys() == {file.name for file in found(world, bobs).files}
    assert all(name.startswith(folder) for name in world.files.objects)
    assert ANN not in json.dumps(world.rows("Erasures"), default=str)


@pytest.mark.parametrize("kind", ["user", "room"])
def test_an_export_that_runs_while_its_user_is_erased_ends_without_files(world: World, kind: str) -> None:
    fill(world)
    task = of_ann(world) if kind == "user" else Task(ROOM, "hall", "bob", iso(world.clock.now()))
    left = iter([100.0] + [0.0] * 100)
    world.exporter.run(task, lambda: next(left))
    ((following, _),) = world.export_tasks.sent
    assert found(world, task).state == RUNNING
    assert world.files.objects

    world.eraser.run(Erasure(ANN, None, iso(world.clock.now())), lambda: 100.0)
    assert world.files.objects == {}
    world.files.write(f"{folder_of(world.hashes.key(Person(task.kind, task.id)))}late", b"on its way")
    world.exporter.run(following, lambda: 100.0)
    ((second, _),) = world.tasks.sent
    world.eraser.run(second, lambda: 100.0)

    assert world.files.objects == {}
    assert found(world, task).state == WITHDRAWN


def test_an_export_begins_once_and_can_begin_again_after_its_end(world: World) -> None:
    first, later = iso(world.clock.now()), iso(world.clock.now() + 5)

    assert world.exports.begin("k", first, "s").beside == "s"
    assert world.exports.begin("k", later, None).began_at == first
    assert not world.exports.progress("k", later, {"messages": 1})
    assert world.exports.progress("k", first, {"messages": 1})
    world.exports.finish("k", first, later, {"messages": 2}, [])
    ended = world.exports.begin("k", first, None)
    assert (ended.state, ended.done_at, ended.counts) == (DONE, later, {"messages": 2})
    again = world.exports.begin("k", later, None)
    assert (again.state, again.began_at, again.beside, again.counts) == (RUNNING, later, None, {})
    (row,) = DynamoTable(world.dynamodb, "Erasures", "rows").scan_all()
    assert row["expiresAt"] * 1_000_000 > again.kept_until
    assert not world.exports.withdraw("unknown")
