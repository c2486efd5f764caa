"""P18: Owners delete rooms of members, operators any room; its followers get a frame, and writes are refused."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest

from headrace.core.errors import NotFound
from headrace.core.sender import SenderContext
from headrace.core.times import SECOND, iso
from headrace.features.channels.channels import UserChannels
from headrace.features.people.erasure import routes as erasure
from headrace.features.people.erasures import Task
from headrace.features.people.hashes import ROOM, USER, Person, PersonHashes
from headrace.features.people.jobs import DONE, Job
from headrace.features.room_deletion import routes
from headrace.live.signals import parse
from headrace.queues.names import SIGNAL_QUEUE
from headrace.streams.chat.messages.gate import RoomGate
from headrace.streams.chat.rooms.rooms import CachedRooms
from tests.fakes.jobs import MemoryJobs
from tests.worlds.room_world import GROUP, TRUSTED, caller
from tests.worlds.senders import CHAT, NOW
from tests.worlds.whole_room_world import WholeRoomWorld

FREE, FREE_PAIR = "2025-12-06T10:00:58.722861Z", "2025-11-21T10:01:08.722861Z"
"""15 days later."""
OPS = {"scopes": "ops"}
HASHES = PersonHashes(lambda: "a secret")


class World(WholeRoomWorld):
    """``jobs`` has the deletions and their tasks. An environment accepts messages, and remembers rooms."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__()
        self.jobs, self.told = MemoryJobs(Job), list[Any]()
        monkeypatch.setattr(
            erasure, "services", lambda: SimpleNamespace(erasures=self.jobs, queue=self.jobs, hashes=HASHES)
        )
        monkeypatch.setattr(routes, "rooms_eraser", lambda: SimpleNamespace(members=self.forget))
        monkeypatch.setattr(UserChannels, "publish", lambda _, *change: self.told.append(change))
        rooms = CachedRooms(self.rooms, seconds=lambda: self.clock.now() / SECOND)
        self.remembering = RoomGate(rooms, self.memberships, lambda: 0.0)
        self.add_rooms()
        self.told.clear()

    def forget(self, target: Any) -> list[None]:
        self.memberships.rows = {pair: row for pair, row in self.memberships.rows.items() if pair[1] != target.room_id}
        return []

    def put_job(self, room: str, *job: Any) -> None:
        self.jobs.jobs[HASHES.key(Person(ROOM, room))] = Job(NOW, *job)

    def refusal(self, room: str, *scopes: str) -> Any:
        """Why a message of alice is refused now."""
        now = self.clock.now()
        event = CHAT.accept({"roomId": room, "message": "hello"}, SenderContext("alice", "alice", False, now))
        return self.remembering.admit(caller("alice", *scopes), [event], now)[0]


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    return World(monkeypatch)


def test_an_owner_deletes_a_room_of_members_and_who_follows_it_is_told(world: World) -> None:
    room = world.rooms.rows["kitchen"]

    status, answer = world.request("alice", "DELETE", "kitchen")

    progress = {"state": "running", "erasedAt": NOW, "backupsUntil": "2025-12-26T10:00:58.722861Z", "counts": {}}
    assert (status, answer) == (202, {"roomId": "kitchen", "freeFrom": FREE, **progress})
    owner = HASHES.key(Person(USER, "alice"))
    assert world.jobs.sent == [Task("", None, NOW, room_id="kitchen", owner=owner)]
    assert world.told == [(["alice", "bob"], "room", "kitchen")]
    (told,) = world.live.sent
    assert told.routing_key == SIGNAL_QUEUE
    assert json.loads(parse(told.body).frame) == {"type": "roomDeleted", "roomId": "kitchen", "timestamp": NOW}
    assert world.refused("bob", "GET", "kitchen") == (404, "not_found")

    world.clock.advance(5)
    assert world.request("alice", "DELETE", "kitchen") == (202, answer)
    assert (len(world.jobs.sent), len(world.told)) == (1, 1)
    assert world.live.sent == [told, told], "followers get the frame again, as the first one may be lost"
    del world.rooms.gone["kitchen"]
    world.rooms.rows["kitchen"] = room
    assert world.request("alice", "DELETE", "kitchen") == (202, answer), "the first request may have ended before that"
    assert "kitchen" not in world.rooms.rows
    world.put_job("kitchen", DONE, owner, NOW, {"messages": 3})
    assert world.request("alice", "DELETE", "kitchen")[1]["counts"] == {"messages": 3}
    assert len(world.live.sent) == 3
    assert world.refused("bob", "DELETE", "kitchen") == (404, "not_found")


def test_who_may_not_delete_a_room_gets_what_a_change_of_its_name_answers(world: World) -> None:
    for room in ("kitchen", "nowhere", "direct:x"):
        assert world.request("bob", "DELETE", room) == world.request("bob", "PATCH", room, {"name": "x"})


def test_open_and_direct_rooms_and_those_of_others_are_for_operators(world: World) -> None:
    direct = world.ok("alice", "PUT", "alice/direct/bob")["roomId"]
    for room, scopes in (("hall", "chat:write"), (direct, "chat:write"), ("kitchen", f"chat:write {TRUSTED}")):
        user = "robot" if TRUSTED in scopes else "alice"
        status, answer = world.request(user, "DELETE", room, scopes=scopes)
        assert (status, answer["error"]["message"]) == (403, "only an operator deletes this room")
    assert world.refused("alice", "POST", "hall/deletion") == (403, "forbidden")
    for method, room in (("GET", "hall"), ("POST", "nowhere")):
        assert world.refused("olga", method, f"{room}/deletion", **OPS) == (404, "not_found")
    assert world.jobs.sent == []

    for room in ("hall", direct):
        status, answer = world.request("olga", "POST", f"{room}/deletion", **OPS)
        assert (status, answer["freeFrom"]) == (202, FREE if room == "hall" else FREE_PAIR)
        assert world.request("olga", "GET", f"{room}/deletion", **OPS) == (200, answer)


def test_a_direct_room_can_be_opened_again_after_ten_seconds(world: World) -> None:
    direct = world.ok("alice", "PUT", "alice/direct/bob")["roomId"]
    assert world.request("olga", "POST", f"{direct}/deletion", **OPS)[0] == 202
    assert type(world.refusal(direct)).__name__ == "Forbidden"
    assert world.refused("bob", "PUT", "bob/direct/alice") == (409, "conflict")
    world.clock.advance(10)

    again = world.ok("bob", "PUT", "bob/direct/alice")

    assert (again["roomId"], again["createdBy"]) == (direct, "bob")
    assert world.rooms.rows[direct].retention.gone_before == FREE_PAIR
    assert world.refused("olga", "POST", f"{direct}/deletion", **OPS) == (409, "conflict")
    world.put_job(direct, DONE)
    world.clock.advance(1)
    assert world.request("olga", "POST", f"{direct}/deletion", **OPS)[1]["erasedAt"] == iso(world.clock.now())


@pytest.mark.parametrize("scopes", [(), (TRUSTED,)])
def test_sends_are_refused_in_ten_seconds_until_the_id_is_free(world: World, scopes: tuple[str, ...]) -> None:
    assert world.refusal("hall", *scopes) is None
    world.request("olga", "POST", "hall/deletion", **OPS)
    scope = world.access.read_scope(caller("carol"), "hall")
    assert (scope.intervals, scope.exists) == ((), False)
    world.clock.advance(10)

    refused = world.refusal("hall", *scopes)

    assert isinstance(refused, NotFound)
    assert (refused.message, FREE in refused.details[0].allowed) == ("the room was deleted", True)
    status, answer = world.request("alice", "PUT", "hall", GROUP)
    assert (status, FREE in answer["error"]["details"][0]["allowed"]) == (409, True)
    world.clock.advance(15 * 86400)
    assert world.refusal("hall", *scopes) is None
    world.clock.advance(60)
    world.rooms.down = True
    assert world.refusal("hall", *scopes) is None, "an open room that is known takes messages without the table"
