"""P18: Nothing of a deleted room is left, and nothing of it comes back, whatever was on its way, in any order."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from headrace.core.errors import UserError
from headrace.core.people import Target
from headrace.core.sender import ValidatedEvent
from headrace.core.stream import Stream
from headrace.core.times import DAY, SECOND, iso
from headrace.features.people.erasures import Task
from headrace.features.people.hashes import ROOM, Person
from headrace.features.people.jobs import DONE
from headrace.streams.chat.messages.gate import RoomGate
from headrace.streams.chat.rooms.memberships import Change, membership_event
from headrace.streams.chat.rooms.rooms import DIRECT, GROUP, MEMBERS, CachedRooms, Room, free_from
from tests.contract.erasure.test_any_order import STEPS, Stage
from tests.contract.erasure_world import ANN, TABLES, World, fill, stopped_after
from tests.contract.tables import made
from tests.worlds.senders import CHAT, caller

USERS = [ANN, "bob"]
KITCHEN, PAIR = "kitchen~4", "direct:ann and bob"


@pytest.fixture
def dynamodb(dynalite: str) -> Iterator[Any]:
    with made(*TABLES) as found:
        yield found


def left(world: World, room: str) -> set[str]:
    """The tables with rows that have a room in them."""
    return {json.loads(row)[0] for row in world.holding(room)}


@pytest.mark.parametrize("writes", [*range(1, 20, 3), 1000])
def test_a_deletion_that_stops_after_any_write_is_completed_and_leaves_only_that_it_was(
    dynamodb: Any, writes: int
) -> None:
    world = World(dynamodb)
    fill(world)
    hall = [row for row in world.rows("EMessages") if row["roomId"] == "hall"]
    task = Task("", None, iso(world.clock.now()), room_id=KITCHEN)

    with stopped_after(writes):
        world.eraser.run(task, lambda: 100.0)
    for number in (1, 2):
        world.eraser.run(replace(task, round=number), lambda: 100.0)

    assert left(world, "kitchen") == {"ERooms"}
    (row,) = [row for row in world.rows("ERooms") if row["roomId"] == KITCHEN]
    free = free_from(KITCHEN, task.erased_at)
    assert row == {"roomId": KITCHEN, "deletedAt": task.erased_at, "goneBefore": free}
    assert [row for row in world.rows("EMessages") if row["roomId"] == "hall"] == hall
    assert {row["roomId"] for row in world.rows("EMemberships")} >= {"hall", "#attic"}
    erasure = world.erasures.get(world.hashes.key(Person(ROOM, KITCHEN)))
    assert erasure is not None
    assert (erasure.state, erasure.began_at) == (DONE, task.erased_at)
    assert writes < 1000 or erasure.counts == {"connections": 2, "memberships": 2, "messages": 4}


class RoomStage(Stage):
    """A stage with one room, which is deleted and opened again. An environment accepts events, and remembers rooms."""

    def __init__(self, dynamodb: Any, room: str) -> None:
        super().__init__(dynamodb, room)
        rooms = CachedRooms(self.rooms, seconds=lambda: self.clock.now() / SECOND)
        self.gate = RoomGate(rooms, self.memberships, lambda: self.clock.now() / SECOND)
        self.deleted: list[str] = []
        self.open()

    def may_send(self, stream: Stream, by: str, event: ValidatedEvent) -> bool:
        now = self.clock.now()
        if stream is CHAT:
            return self.gate.admit(caller(by), [event], now) == [None]
        with contextlib.suppress(UserError):
            self.gate.check(caller(by), self.room, now)
            return True
        return False

    def open(self) -> None:
        """Create the room, if its id is free, and let both users join."""
        self.clock.advance(0.001)
        form = DIRECT if self.room == PAIR else GROUP
        room = self.rooms.create(Room(self.room, MEMBERS, form, iso(self.clock.now()), ANN))
        for user in USERS if room is not None else []:
            if not self.memberships.get(user, self.room).is_open:
                join = membership_event(room.created_at, "join")
                self.memberships.add(Change(user_id=user, room_id=self.room, kind="join", event=join))

    def delete(self) -> None:
        """What the request does: of a direct room, it deletes the members too."""
        if not self.tasks.sent and self.rooms.get(self.room) is not None:
            self.clock.advance(0.001)
            at = iso(self.clock.now())
            self.deleted.append(at)
            self.tasks.send(Task("", None, at, room_id=self.room))
            self.erasures.begin(self.hashes.key(Person(ROOM, self.room)), at)
            self.rooms.delete(self.room, at)
            self.clock.advance(0.001)
            self.say("bob")  # as a member still, or in an environment that does not know it yet
            if self.room == PAIR:
                list(self.places.members(Target("", None, at, "", "", room_id=self.room)))

    def request_erasure(self) -> None:
        """No user is erased here."""


PLAYED = st.one_of(
    STEPS,
    st.tuples(st.just("say"), st.sampled_from(USERS), st.sampled_from([0, 100, 290])),
    st.tuples(st.sampled_from(["delete", "open", "run_slice"])),
    st.tuples(st.just("wait"), st.sampled_from([15, 16 * DAY / SECOND])),
)
SAID = [("say", ANN), ("deliver", 0), ("say", "bob", 290)]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@example(room=PAIR, steps=[*SAID, ("delete",), ("wait", 15), ("open",), ("deliver", 1), ("say", ANN), ("deliver", 2)])
@example(room=PAIR, steps=[*SAID, ("delete",), ("wait", 15)])
@example(room=KITCHEN, steps=[*SAID, ("delete",), ("run_slice",), ("deliver", 1), ("run_slice",), ("redrive",)])
@example(room=KITCHEN, steps=[*SAID, ("back_up",), ("delete",), ("wait", 16 * DAY / SECOND), ("open",), *SAID])
@given(room=st.sampled_from([KITCHEN, PAIR]), steps=st.lists(PLAYED, min_size=5, max_size=40))
def test_no_order_brings_anything_of_a_deleted_room_back(
    dynamodb: Any, room: str, steps: list[tuple[Any, ...]]
) -> None:
    stage = RoomStage(dynamodb, room)
    stage.play(steps)

    until = free_from(room, stage.deleted[-1]) if stage.deleted else ""
    stored = {row["timestampSk"] for row in stage.rows("EMessages") if row["roomId"] == room}
    for _, accepted_at, text, record in stage.sent:
        if iso(accepted_at) <= until:
            assert stage.holding(text) == []
        elif "messageId" in (event := json.loads(record)["events"][0]):
            assert any(event["messageId"] in key for key in stored)
    if stage.deleted and stage.rooms.get(room) is None:
        assert left(stage, room) == {"ERooms"}
