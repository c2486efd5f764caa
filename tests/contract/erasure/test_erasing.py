"""P15: Nothing of an erased person is left in any table, and nothing of others is missing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

import pytest

from headrace.core.envelope import Envelope
from headrace.core.sender import SenderContext
from headrace.core.times import iso
from headrace.features.edits.change import fold
from headrace.features.people.erasures import Task
from headrace.features.people.hashes import SKIER, USER, Person
from headrace.features.people.jobs import DONE, RUNNING
from headrace.queues.ports import RetryRecord
from tests.contract.erasure_world import ANN, NAMES, NOW, SKIER_ID, TABLES, World, count_reactions, fill, stopped_after
from tests.contract.tables import made
from tests.fakes.queues import Message
from tests.worlds.message_changes import CHANGES
from tests.worlds.senders import CHAT


@pytest.fixture
def world(dynalite: str) -> Iterator[World]:
    with made(*TABLES) as dynamodb:
        world = World(dynamodb)
        yield world
        world.dynamodb.close()


@pytest.mark.parametrize("parts", [1000, 3, 1])
def test_nothing_of_an_erased_person_is_left_whether_in_one_slice_or_in_many(world: World, parts: int) -> None:
    found = fill(world)
    assert count_reactions(world, "kitchen~4", found["bob writes"]["timestampSk"]) == {"+1": 2}

    task = world.erase(parts)

    assert world.holding(ANN) == []
    assert world.holding(str(SKIER_ID)) == []
    erasure = world.erasures.get(world.hashes.key(Person(USER, ANN)))
    assert erasure is not None
    assert (erasure.state, erasure.began_at) == (DONE, task.erased_at)
    assert erasure.counts == {
        "clicks": 1,
        "connections": 2,
        "memberships": 9,
        "messages": 6,
        "reactions": 1,
        "rides": 1,
        "rooms": 2,
    }


def test_counts_stay_and_others_keep_all_that_is_theirs(world: World) -> None:
    found = fill(world)
    before = {name: world.rows(name) for name in NAMES}
    count_reactions(world, "kitchen~4", found["bob writes"]["timestampSk"])

    task = world.erase()

    pseudonym = world.hashes.pseudonym(Person(USER, ANN), task.erased_at)
    messages = {(row["roomId"], row["timestampSk"]): row for row in world.rows("EMessages")}
    mine = messages["kitchen~4", found[f"{ANN} writes"]["timestampSk"]]
    assert {mine[name] for name in ("userId", "username", "deletedBy")} == {pseudonym}
    assert (mine["message"], mine["deletedAt"]) == ("", task.erased_at)
    his = messages["kitchen~4", found["bob writes"]["timestampSk"]]
    assert (his["userId"], his["message"], his["reactions"]) == ("bob", "edited by bob", {"+1": 1})
    added = messages["kitchen~4", found[f"{ANN} joins kitchen~4"]["timestampSk"]]
    assert (added["userId"], added["memberId"], added["memberName"]) == ("bob", pseudonym, pseudonym)
    assert "deletedAt" not in added
    plain = [row for row in before["EMessages"] if "change" not in row and row["timestampSk"] != "#"]
    assert {(row["roomId"], row["timestampSk"]) for row in plain} <= messages.keys()

    assert len(world.rows("EClicks")) == len(before["EClicks"])
    assert {row["userId"] for row in world.rows("EClicks")} == {pseudonym, "bob"}
    skiers = {row["skierID"] for row in world.rows("ERides")}
    assert skiers == {"5", world.hashes.pseudonym(Person(SKIER, str(SKIER_ID)), task.erased_at)}
    assert {row["userId"] for row in world.rows("EMemberships")} == {"bob"}
    assert world.memberships.get("bob", "kitchen~4").added_by == pseudonym
    rooms = {row["roomId"]: row for row in world.rows("ERooms")}
    assert (rooms["kitchen~4"]["createdBy"], rooms["hall"]["createdBy"]) == (pseudonym, "bob")
    assert rooms["direct:x"]["seats"] == {pseudonym, "bob"}


def test_a_message_that_an_owner_deleted_stays_deleted_without_the_owners_name(world: World) -> None:
    found = fill(world)
    key = found["bob writes"]["timestampSk"]
    deletion = world.store(CHANGES, ANN, {"roomId": "kitchen~4", "key": key, "change": "delete"})
    world.table("EMessages").put({**deletion, "by": "owner"})
    world.changes.apply("kitchen~4", key, fold("bob", [{**deletion, "by": "owner"}]), iso(NOW))

    task = world.erase()

    message = world.changes.message("kitchen~4", key)
    assert message is not None
    assert message["deletedBy"] == world.hashes.pseudonym(Person(USER, ANN), task.erased_at)
    assert fold("bob", world.changes.changes_of("kitchen~4", key)) is not None
    assert world.holding(ANN) == []


def test_only_the_events_of_the_person_leave_a_dead_letter(world: World) -> None:
    def bury(accepted_at: int, *authors: str, body: bytes | None = None) -> None:
        events = [
            CHAT.accept({"roomId": "hall", "message": f"dead of {each}"}, SenderContext(each, each, False, NOW)).event
            for each in authors
        ]
        record = Envelope("chat", "r-1", iso(accepted_at), events).encode() if body is None else body
        world.dead.send(RetryRecord(record, {"reason": "StoreUnavailable"}))

    bury(NOW, ANN)
    bury(NOW, ANN, "bob")
    bury(NOW, "bob")
    bury(NOW + 3_600_000_000, ANN)
    bury(NOW, body=b"no envelope")

    world.erase()

    assert authors_of(world.dead.messages) == [["bob"], [ANN], []]
    assert authors_of(world.retry_lane.queue.messages) == [["bob"]]
    assert world.retry_lane.records[0].attributes == {"reason": "StoreUnavailable"}
    assert world.dead.visible() == world.dead.messages
    erasure = world.erasures.get(world.hashes.key(Person(USER, ANN)))
    assert erasure is not None
    assert (erasure.counts["deadLetters"], erasure.counts["unreadableDeadLetters"]) == (2, 1)


def authors_of(messages: list[Message]) -> list[list[str]]:
    bodies = [message.record.body for message in messages]
    return [[event["userId"] for event in json.loads(body)["events"]] if body[0] == 123 else [] for body in bodies]


def test_the_second_round_finds_what_was_on_its_way(world: World) -> None:
    fill(world)
    task = Task(ANN, None, iso(world.clock.now()))
    world.eraser.run(task, lambda: 100.0)
    ((second, delay),) = world.tasks.sent
    assert (second, delay) == (replace(task, round=2), 150)
    assert {json.loads(row)[0] for row in world.holding(ANN)} == {"EMemberships"}
    world.store(CHAT, ANN, {"roomId": "hall", "message": "on its way"})
    (joined,) = world.memberships.get(ANN, "hall").joins
    notice = {"roomId": "hall", "messageId": joined[28:], "timestamp": joined[:27], "messageType": "JOIN"}
    world.store(CHAT, "server", {**notice, "message": "", "userId": "bob", "memberId": ANN}, trusted=True)

    world.eraser.run(second, lambda: 100.0)

    assert world.holding(ANN) == []
    assert world.holding("on its way") == []


def test_who_blocks_the_user_goes_on_to_block_them(world: World) -> None:
    world.invitations.block("carl", ANN, iso(NOW))

    world.erase()

    assert world.invitations.blocks([("carl", ANN)]) == {("carl", ANN)}


def test_the_text_of_a_notice_goes_too(world: World) -> None:
    world.store(CHAT, ANN, {"roomId": "hall", "message": "goodbye", "messageType": "LEAVE"}, trusted=True)

    world.erase()

    assert world.holding("goodbye") == world.holding(ANN) == []


@pytest.mark.parametrize("writes", range(1, 40, 3))
def test_an_erasure_that_stops_after_any_write_is_completed_by_the_next_try(world: World, writes: int) -> None:
    """Counts of reactions are right, and nothing of the person is left."""
    found = fill(world)
    bobs = found["bob writes"]["timestampSk"]
    assert count_reactions(world, "kitchen~4", bobs) == {"+1": 2}
    task = Task(ANN, str(SKIER_ID), iso(world.clock.now()))
    with stopped_after(writes):
        world.eraser.run(task, lambda: 100.0)

    world.eraser.run(task, lambda: 100.0)
    world.eraser.run(replace(task, round=2), lambda: 100.0)

    assert world.holding(ANN) == world.holding(str(SKIER_ID)) == []
    message = world.changes.message("kitchen~4", bobs)
    assert message is not None
    assert message["reactions"] == {"+1": 1}


def test_a_task_that_is_delivered_again_after_the_end_changes_nothing(world: World) -> None:
    fill(world)
    task = world.erase()
    came_back = world.store(CHAT, ANN, {"roomId": "hall", "message": "I am here again"})

    world.eraser.run(replace(task, round=2), lambda: 100.0)

    assert world.changes.message("hall", came_back["timestampSk"]) == came_back
    assert world.tasks.sent == []


def test_an_erasure_begins_once_and_can_begin_again_after_its_end(world: World) -> None:
    key, (first, later) = world.hashes.key(Person(USER, ANN)), (iso(NOW), iso(NOW + 5))

    assert world.erasures.begin(key, first).began_at == first
    assert world.erasures.begin(key, later).began_at == first
    world.erasures.add(key, first, {"messages": 2})
    world.erasures.add(key, first, {"messages": 1, "clicks": 1})
    world.erasures.finish(key, first, later)
    ended = world.erasures.begin(key, first)
    assert (ended.state, ended.done_at, ended.counts) == (DONE, later, {"messages": 3, "clicks": 1})
    again = world.erasures.begin(key, later)
    assert (again.state, again.began_at, again.counts) == (RUNNING, later, {})

    world.erasures.bury(key, first)
    assert world.erasures.erased_at([key, "nobody"]) == {key: later}
