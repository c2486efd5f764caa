"""Operators export users, users themselves, and owners their rooms."""

from __future__ import annotations

import json
from typing import Any

import pytest

from headrace.api.router import Api, http_handler
from headrace.core.times import DAY, HOUR
from headrace.features.people.exports.routes import ExportServices
from headrace.features.people.exports.tasks import WITHDRAWN, Export, File, Kind, Task
from headrace.features.people.hashes import ROOM, SKIER, USER, Person, PersonHashes
from headrace.features.people.jobs import DONE, RUNNING, Job
from headrace.runtime.observability import logger
from headrace.streams.chat.rooms.memberships import OWNER, Membership, Role
from headrace.streams.chat.rooms.rooms import DIRECT, GROUP, MEMBERS, OPEN, Room
from tests.fakes.clock import FixedClock
from tests.fakes.jobs import MemoryJobs
from tests.worlds.functions import routes_of
from tests.worlds.requests import http_event
from tests.worlds.senders import NOW

EXPORT, SHOW = "POST /users/{userId}/export", "GET /users/{userId}/export"
EXPORT_OWN, SHOW_OWN = "POST /export", "GET /export"
EXPORT_ROOM, SHOW_ROOM = "POST /rooms/{roomId}/export", "GET /rooms/{roomId}/export"
WRITE, READ = "chat:write", "chat:read"
JOIN = "2025-11-20T10:00:00.000000Z#j"


class Stored(MemoryJobs):
    """Exports, their queue and files, rooms and memberships in memory."""

    def __init__(self) -> None:
        super().__init__(Export)
        self.rooms: dict[str, Room] = {}
        self.members: dict[tuple[str, str], Role] = {}

    def link(self, name: str, shown: str, seconds: int) -> str:
        return f"https://files.test/{name}?{shown}&{seconds}"


class Memberships:
    def __init__(self, stored: Stored) -> None:
        self._stored = stored

    def get(self, user_id: str, room_id: str) -> Membership:
        role = self._stored.members.get((user_id, room_id))
        return Membership(user_id, room_id, frozenset([JOIN] if role else []), role=role or "member")


class World:
    def __init__(self) -> None:
        self.stored = Stored()
        self.erasures: dict[str, Job] = {}
        self.clock = FixedClock(NOW)
        self.hashes = PersonHashes(lambda: "a secret")
        services: Any = ExportServices(
            self.stored,
            self.erasures,
            self.stored,
            self.stored,
            self.hashes,
            self.stored.rooms,
            Memberships(self.stored),
        )
        self.handler = http_handler(Api(routes_of("manage_exports"), lambda: services, self.clock, str, lambda: None))

    def key(self, kind: str, id: str) -> str:
        return self.hashes.key(Person(kind, id))

    def room(self, room_id: str, kind: Any = MEMBERS, **members: Role) -> None:
        form: Any = DIRECT if room_id.startswith("direct:") else GROUP
        self.stored.rooms[room_id] = Room(room_id, kind, form, NOW, "founder")
        self.stored.members |= {(user, room_id): role for user, role in members.items()}

    def done(self, kind: Kind, id: str, beside: str | None = None, **more: Any) -> None:
        files = [File("exports/k/00001-a.jsonl.gz", 3, 120), File("exports/k/00002-b.jsonl.gz", 1, 60)]
        export = Export(NOW, more.pop("state", DONE), beside, NOW, {"messages": 3}, files)
        self.stored.jobs[self.key(kind, id)] = export

    def call(self, route: str, body: Any = None, scope: str = "ops", caller: str = "olga") -> Any:
        path = {"userId": "ann"} if "{userId}" in route else {"roomId": "kitchen"}
        answer = self.handler(http_event(route, body, user=caller, scope=scope, path=path))
        return answer["statusCode"], json.loads(answer["body"])


def test_an_export_is_queued_and_then_shown() -> None:
    world = World()

    status, answer = world.call(EXPORT, {"skierID": 42})

    assert status == 202
    assert world.stored.sent == [Task("user", "ann", "42", NOW)]
    assert answer == {
        "userId": "ann",
        "state": "running",
        "asOf": "2025-11-21T09:59:58.722861Z",
        "filesUntil": "2025-11-28T10:00:58.722861Z",
        "counts": {},
        "files": [],
    }
    assert world.call(SHOW) == (200, answer)
    (export,) = world.stored.jobs.values()
    assert export.beside == world.key(SKIER, "42")


def test_a_user_asks_for_themselves_and_is_the_same_user_as_an_operators() -> None:
    world = World()

    status, answer = world.call(EXPORT_OWN, scope=WRITE, caller="ann")

    assert (status, answer["userId"]) == (202, "ann")
    assert world.stored.sent == [Task("user", "ann", None, NOW)]
    assert world.call(SHOW_OWN, scope=READ, caller="ann") == (200, answer)
    assert world.call(SHOW) == (200, answer)
    assert world.call(SHOW_OWN, scope=READ, caller="bob")[0] == 404


@pytest.mark.parametrize("route", [EXPORT_OWN, EXPORT])
def test_a_second_request_is_the_same_task_while_it_runs_and_a_new_one_later(route: str) -> None:
    world = World()
    scope, body = ("ops", {}) if route == EXPORT else (WRITE, None)
    first = world.call(route, body, scope=scope, caller="ann")
    world.clock.advance(10)

    assert world.call(route, body, scope=scope, caller="ann") == first
    assert len(world.stored.sent) == 1
    world.done("user", "ann")
    status, answer = world.call(route, body, scope=scope, caller="ann")
    assert (status, answer["state"], answer["files"]) == (202, "running", [])
    assert len(world.stored.sent) == 2


def test_a_task_is_not_sent_again_for_another_owner_or_without_its_skier() -> None:
    """Another owner may read other messages, and the skier is known by a hash only."""
    world = World()
    world.room("kitchen", ann=OWNER, bob=OWNER)
    world.call(EXPORT_ROOM, scope=WRITE, caller="ann")
    world.call(EXPORT, {"skierID": 42})
    asked = list(world.stored.sent)
    world.clock.advance(HOUR / 1_000_000 + 1)

    assert world.call(EXPORT_ROOM, scope=WRITE, caller="bob")[0] == 409
    assert world.call(EXPORT_OWN, scope=WRITE, caller="ann")[0] == 202
    assert world.stored.sent == asked
    assert world.call(EXPORT, {"skierID": 42})[0] == 202
    assert world.stored.sent == [*asked, asked[1]]


def test_a_done_export_has_a_new_link_to_each_file_for_a_quarter_of_an_hour() -> None:
    world = World()
    world.done("user", "ann")

    status, answer = world.call(SHOW)

    assert (status, answer["state"], answer["doneAt"]) == (200, "done", NOW)
    assert answer["files"] == [
        {"link": "https://files.test/exports/k/00001-a.jsonl.gz?export-00001.jsonl.gz&900", "lines": 3, "bytes": 120},
        {"link": "https://files.test/exports/k/00002-b.jsonl.gz?export-00002.jsonl.gz&900", "lines": 1, "bytes": 60},
    ]


def test_an_export_whose_files_are_gone_is_not_found() -> None:
    world = World()
    world.done("user", "ann")
    world.clock.advance(7 * DAY / 1_000_000)
    assert world.call(SHOW)[0] == 404
    world.done("user", "ann", state=WITHDRAWN)
    world.clock.advance(-DAY / 1_000_000)

    assert world.call(SHOW)[0] == 404


def test_nobody_is_exported_while_being_erased() -> None:
    world = World()
    world.erasures[world.key(USER, "ann")] = Job(NOW, RUNNING)

    assert world.call(EXPORT, {})[0] == 409
    assert world.call(EXPORT_OWN, scope=WRITE, caller="ann")[0] == 409
    assert world.stored.sent == []
    world.erasures[world.key(USER, "ann")] = Job(NOW, DONE)
    assert world.call(EXPORT, {})[0] == 202


def test_another_skier_than_that_of_the_running_export_is_refused() -> None:
    world = World()
    world.call(EXPORT, {"skierID": 42})

    assert world.call(EXPORT, {"skierID": 43})[0] == 409
    assert world.call(EXPORT, {"skierID": 42})[0] == 202
    assert world.call(EXPORT, {})[0] == 202


@pytest.mark.parametrize(
    ("kind", "role", "status"),
    [(MEMBERS, OWNER, 202), (MEMBERS, "member", 403), (MEMBERS, None, 403), (OPEN, OWNER, 409)],
)
def test_only_an_owner_exports_a_room_and_only_one_of_members(kind: Any, role: Any, status: int) -> None:
    world = World()
    world.room("kitchen", kind, **({"ann": role} if role else {}))

    assert world.call(EXPORT_ROOM, scope=WRITE, caller="ann")[0] == status
    assert world.stored.sent == ([Task(ROOM, "kitchen", "ann", NOW)] if status == 202 else [])


def test_the_export_of_a_room_is_shown_to_the_owner_who_asked_while_they_own_it() -> None:
    world = World()
    world.room("kitchen", ann=OWNER, bob=OWNER)
    world.done(ROOM, "kitchen", world.key(USER, "ann"))

    status, answer = world.call(SHOW_ROOM, scope=READ, caller="ann")
    assert (status, answer["roomId"], len(answer["files"])) == (200, "kitchen", 2)
    assert world.call(SHOW_ROOM, scope=READ, caller="bob")[0] == 404
    world.stored.members["ann", "kitchen"] = "member"
    assert world.call(SHOW_ROOM, scope=READ, caller="ann")[0] == 403


def test_a_room_that_does_not_exist_is_not_found() -> None:
    assert World().call(EXPORT_ROOM, scope=WRITE, caller="ann")[0] == 404


def test_the_log_names_operators_who_export_and_read_but_no_user(monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[tuple[str, Any]] = []
    monkeypatch.setattr(logger, "warning", lambda text, extra: lines.append((text, extra)))
    world = World()

    world.call(EXPORT, {})
    world.call(SHOW)
    world.call(SHOW_OWN, scope=READ, caller="ann")

    seen = {"kind": "audit", "operator": "olga", "person": world.key(USER, "ann")}
    assert lines == [("a user is exported", seen), ("an export of a user is read", seen)]
