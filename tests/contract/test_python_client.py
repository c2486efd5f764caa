"""The Python client's live messages against a server that loses, repeats and delays messages."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from headrace_client import ConnectionSettings, Rooms
from headrace_client.connection import Connection
from headrace_client.room import REMEMBERED_SECONDS
from headrace_client.room import Room as ClientRoom
from headrace_client.rooms import ROOMS_PER_FRAME
from tests.contract.client_stage import FAST, OVERLAP, Room, Stage, position, running_stage, take, until


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    async with running_stage() as made:
        yield made


async def test_a_followed_room_yields_new_messages_once_and_no_old_ones(stage: Stage) -> None:
    room = stage.rooms["kitchen"]
    room.store(1)
    async with Rooms(stage.url, lambda: "h.p.s", settings=FAST) as rooms:
        await rooms.follow("kitchen")
        said = room.store(2)
        await stage.push(said)
        await stage.push(said, room.store(3))

        assert await take(rooms, 2) == ["n2", "n3"]


async def test_a_lost_frame_is_noticed_at_the_next_one(stage: Stage) -> None:
    """Also the first one. A frame that is only late is not asked for."""
    room = stage.rooms["kitchen"]
    settings = ConnectionSettings(check_interval=3600.0, late_frame=0.2)
    async with Rooms(stage.url, lambda: "h.p.s", settings=settings) as rooms:
        await rooms.follow("kitchen")
        room.store(1)
        await stage.push(room.store(2))
        assert await take(rooms, 2) == ["n2", "n1"]
        stage.frames.clear()
        late = room.store(3)
        await stage.push(room.store(4))
        await stage.push(late)
        assert await take(rooms, 2) == ["n4", "n3"]
        await asyncio.sleep(0.3)

        assert (stage.frames, rooms.rooms["kitchen"].position) == ([], position(4))


async def test_all_rooms_are_resumed_with_one_frame_after_a_cut(stage: Stage) -> None:
    names = [f"room {number}" for number in range(ROOMS_PER_FRAME)]
    stage.rooms = {name: Room() for name in names}
    async with Rooms(stage.url, lambda: "h.p.s", settings=replace(FAST, check_interval=3600.0)) as rooms:
        for name in names:
            await rooms.follow(name)
        stage.frames.clear()
        await stage.cut()
        for number in range(25):
            stage.rooms["room 7"].store(number)

        assert await take(rooms, 25) == [f"n{number}" for number in range(25)]
        asked = [(frame["action"], *frame["rooms"]) for frame in stage.frames]
        assert asked == [("resume", *names), ("resume", "room 7"), ("resume", "room 7")]


async def test_a_message_comes_again_when_something_of_it_is_new(stage: Stage) -> None:
    """And not as it was before."""
    first, second, third = (f"2025-11-21T10:00:0{second}.000000Z" for second in (1, 2, 3))
    message = stage.rooms["kitchen"].store(1)
    async with Rooms(stage.url, lambda: "h.p.s", settings=FAST) as rooms:
        await rooms.follow("kitchen", since=position(1))
        for text, fields in (
            ("reacted", {"reactionsAt": first}),
            ("reacted again", {"reactionsAt": second}),
            ("old reactions", {"reactionsAt": first}),
            ("edited", {"editedAt": first, "reactionsAt": second}),
            ("not edited yet", {"reactionsAt": third}),
            ("edited, reacted", {"editedAt": first, "reactionsAt": third}),
            ("", {"deletedAt": first}),
            ("not deleted yet", {"editedAt": third, "reactionsAt": third}),
        ):
            await stage.push({**message, "message": text, **fields})
        await stage.push(stage.rooms["kitchen"].store(2))

        assert await take(rooms, 6) == ["reacted", "reacted again", "edited", "edited, reacted", "", "n2"]


@pytest.mark.parametrize("moves", [True, False])
async def test_a_busy_room_repeats_nothing_after_nine_minutes(stage: Stage, moves: bool) -> None:
    """50 messages a second. The position moves with the frames, or stays, as while the server's cache is away."""
    delivered: list[str] = []
    connection = Connection(stage.url, "h.p.s", FAST, opened=lambda: asyncio.sleep(0), received=lambda _frame: None)
    room = ClientRoom("kitchen", position(0), connection, lambda message: delivered.append(message["key"]))
    pushed = []
    for second in range(1, 541):
        pushed += [{"key": f"{position(second)}#{number}"} for number in range(50)]
        follows = {"follows": position(second - 1)[-12:]} if moves else {}
        room.receive({"items": pushed[-50:], "position": position(second), **follows})

    since = int(str(room.position)[1:17]) // 1_000_000 - 640
    room.begin()
    await room.take({"items": pushed[max(0, 50 * since) :], "next": None, "hasMore": False, "position": position(541)})
    room.end()

    assert len(delivered) == len(set(delivered)) == 27_000
    for second in range(542, 3000):
        room.receive(
            {"items": [{"key": position(second)}], "position": position(second), "follows": position(second - 1)[-12:]}
        )
    assert len(room._seen) < REMEMBERED_SECONDS + 5


@pytest.mark.parametrize(("forgotten", "first"), [(0, 9), (10, 9 - OVERLAP)])
async def test_following_continues_from_a_saved_position(stage: Stage, forgotten: int, first: int) -> None:
    """Where the log does not know the position any more, some messages from before it come again."""
    room = stage.rooms["kitchen"]
    room.forgotten = forgotten
    for number in range(10):
        room.store(number)
    async with Rooms(stage.url, lambda: "h.p.s", settings=FAST) as rooms:
        await rooms.follow("kitchen", since=position(9))

        assert await take(rooms, 10 - first) == [f"n{number}" for number in range(first, 10)]
        assert rooms.rooms["kitchen"].position == position(10)


async def test_signals_are_sent_and_reach_the_callback_and_no_messages(stage: Stage) -> None:
    signals: list[Any] = []
    async with Rooms(stage.url, lambda: "h.p.s", settings=FAST, signal=signals.append) as rooms:
        await rooms.follow("kitchen")
        await rooms.signal("kitchen", "typing", "…")
        await stage.push_frame({"type": "signal", "roomId": "kitchen", "userId": "bob", "name": "typing", "data": ""})
        await stage.push_frame({"type": "a later type", "roomId": "kitchen"})
        said = stage.rooms["kitchen"].store(1)
        await stage.push(said)

        assert await take(rooms, 1) == [said["message"]]

    sent = next(frame for frame in stage.frames if frame["action"] == "sendSignal")
    assert [sent[name] for name in ("roomId", "name", "data")] == ["kitchen", "typing", "…"]
    assert [frame["name"] for frame in signals] == ["typing"]


async def test_a_subscription_that_was_lost_comes_back_with_the_next_check(stage: Stage) -> None:
    room = stage.rooms["kitchen"]
    async with Rooms(stage.url, lambda: "h.p.s", settings=FAST) as rooms:
        await rooms.follow("kitchen")
        room.subscribers.clear()
        await until(lambda: bool(room.subscribers))


async def test_a_room_that_is_no_longer_followed_yields_no_messages(stage: Stage) -> None:
    stage.rooms["hall"] = Room()
    async with Rooms(stage.url, lambda: "h.p.s", settings=FAST) as rooms:
        await rooms.follow("kitchen")
        await rooms.follow("hall")
        await rooms.unfollow("kitchen")
        await stage.push(stage.rooms["kitchen"].store(1))
        await stage.push(stage.rooms["hall"].store(2), room="hall")

        assert await take(rooms, 1) == ["n2"]


@pytest.mark.parametrize("seed", range(6))
async def test_every_message_is_yielded_once_despite_losses_and_repeats(stage: Stage, seed: int) -> None:
    """P13."""
    dice = random.Random(seed)
    room = stage.rooms["kitchen"]
    async with Rooms(stage.url, lambda: "h.p.s", settings=FAST) as rooms:
        await rooms.follow("kitchen")
        said: list[str] = []
        missed = False
        for number in range(150):
            message = room.store(number, late=dice.choice([0.0, 0.0, 2.0]))
            said.append(message["message"])
            fate = dice.random()
            if fate < 0.15:
                missed = True  # not pushed: the next frame says so
            elif fate < 0.2:
                await stage.cut()
                missed = False
            else:
                for _ in range(dice.choice([1, 1, 2])):
                    await stage.push(message, missed=missed)
                missed = False
            if dice.random() < 0.3:
                await asyncio.sleep(0.002)
        await stage.push(room.store(200), missed=True)

        found = await take(rooms, 151)

    assert sorted(found) == sorted([*said, "n200"])
