"""Operators erase users, and users erase themselves."""

from __future__ import annotations

import json
from typing import Any

import pytest

from headrace.api.router import Api, http_handler
from headrace.core.times import iso
from headrace.features.people.erasure.routes import ErasureServices
from headrace.features.people.erasures import Task
from headrace.features.people.hashes import USER, Person, PersonHashes
from headrace.features.people.jobs import DONE, Job
from headrace.runtime.observability import logger
from tests.fakes.clock import FixedClock
from tests.fakes.jobs import MemoryJobs
from tests.worlds.functions import routes_of
from tests.worlds.requests import http_event
from tests.worlds.senders import NOW

ERASE, SHOW = "POST /users/{userId}/erasure", "GET /users/{userId}/erasure"
LATER = "2025-11-21T10:01:03.722861Z"
ERASE_OWN, SHOW_OWN = "POST /erasure", "GET /erasure"


class World:
    def __init__(self) -> None:
        self.erasures = MemoryJobs(Job)
        self.clock = FixedClock(NOW)
        hashes = PersonHashes(lambda: "a secret")
        self.key = hashes.key(Person(USER, "ann"))
        services: Any = ErasureServices(self.erasures, self.erasures, hashes)
        self.handler = http_handler(Api(routes_of("manage_erasures"), lambda: services, self.clock, str, lambda: None))

    def call(self, route: str, body: Any = None, user: str = "ann", scope: str = "ops", caller: str = "olga") -> Any:
        answer = self.handler(http_event(route, body, user=caller, scope=scope, path={"userId": user}))
        return answer["statusCode"], json.loads(answer["body"])


def test_an_erasure_is_queued_and_then_shown() -> None:
    world = World()

    status, answer = world.call(ERASE, {"skierID": 42})

    assert status == 202
    assert world.erasures.sent == [Task("ann", "42", NOW)]
    assert answer == {
        "userId": "ann",
        "state": "running",
        "erasedAt": NOW,
        "backupsUntil": "2025-12-26T10:00:58.722861Z",
        "counts": {},
    }
    assert world.call(SHOW) == (200, answer)


def test_a_repeated_request_is_the_same_erasure_until_it_is_done() -> None:
    world = World()
    first = world.call(ERASE, {})
    world.clock.advance(5)

    assert world.call(ERASE, {}) == first
    assert len(world.erasures.sent) == 1
    world.erasures.jobs[world.key] = Job(NOW, DONE, None, iso(world.clock.now()), {"messages": 3})
    status, done = world.call(SHOW)
    assert (status, done["state"], done["doneAt"], done["counts"]) == (200, "done", LATER, {"messages": 3})
    status, again = world.call(ERASE, {})
    assert (status, again["erasedAt"], again["counts"]) == (202, LATER, {})
    assert [task.erased_at for task in world.erasures.sent] == [NOW, LATER]


def test_a_skier_is_not_forgotten_while_another_erasure_of_the_user_runs() -> None:
    world = World()
    world.call(ERASE_OWN, {"confirm": "ann"}, scope="chat:write", caller="ann")

    status, refused = world.call(ERASE, {"skierID": 42})

    assert (status, refused["error"]["details"][0]["field"]) == (409, "skierID")
    assert world.call(ERASE, {})[0] == 202
    world.erasures.jobs.clear()
    assert world.call(ERASE, {"skierID": 42})[0] == world.call(ERASE, {"skierID": 42})[0] == 202


def test_a_task_that_may_be_lost_is_sent_again() -> None:
    world = World()
    world.call(ERASE, {})
    world.clock.advance(3601)

    assert world.call(ERASE, {})[1]["erasedAt"] == NOW

    assert world.erasures.sent == [Task("ann", None, NOW)] * 2


def test_nothing_is_accepted_that_is_not_in_the_queue() -> None:
    world = World()
    world.erasures.down = True

    assert world.call(ERASE, {})[0] == 503
    assert world.call(SHOW)[0] == 404
    world.erasures.down = False
    assert world.call(ERASE, {})[0] == 202
    assert world.erasures.sent == [Task("ann", None, NOW)]


def test_users_erase_only_themselves_and_say_that_they_mean_it() -> None:
    world = World()

    status, refused = world.call(ERASE_OWN, {"confirm": "bob"}, scope="chat:write", caller="ann")
    assert (status, refused["error"]["details"]) == (
        400,
        [{"field": "confirm", "message": "is not your user id", "got": "bob", "allowed": "the token's own user id"}],
    )
    assert world.call(ERASE_OWN, {}, scope="chat:write", caller="ann")[0] == 400
    assert world.call(ERASE_OWN, {"confirm": "ann", "skierID": 1}, scope="chat:write", caller="ann")[0] == 400
    assert world.erasures.sent == []
    status, answer = world.call(ERASE_OWN, {"confirm": "ann"}, scope="chat:write", caller="ann")
    assert (status, answer["userId"]) == (202, "ann")
    assert world.call(SHOW_OWN, scope="chat:read", caller="ann") == (200, answer)
    assert world.call(SHOW_OWN, scope="chat:read", caller="bob")[0] == 404


@pytest.mark.parametrize("skier", [0, 1_000_000_000_000, "42", 1.5, True])
def test_a_skier_is_a_whole_number(skier: object) -> None:
    world = World()

    status, refused = world.call(ERASE, {"skierID": skier})

    assert (status, refused["error"]["details"][0]["field"]) == (400, "skierID")
    assert world.erasures.sent == []


def test_the_audit_line_has_no_user_id(monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[tuple[str, Any]] = []
    monkeypatch.setattr(logger, "warning", lambda text, extra: lines.append((text, extra)))
    world = World()

    world.call(ERASE, {"skierID": 42})

    (line,) = lines
    assert line == ("a user is erased", {"kind": "audit", "operator": "olga", "person": world.key, "skier": True})
