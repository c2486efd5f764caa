"""The Python client follows what changes for its user: in a loop that can be left, and from a position."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Any

import pytest

from headrace_client import Refused, Rooms
from tests.contract.client_stage import FAST, Stage, running_stage, until


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    async with running_stage() as made:
        yield made


async def take(changes: AsyncGenerator[Any], count: int) -> list[str | None]:
    """The texts of the next changes; ``None`` where some may be missing."""
    async with asyncio.timeout(30):
        return [(change := await anext(changes)) and change["message"] for _ in range(count)]


async def test_a_loop_that_is_left_and_closed_stops_following_the_user(stage: Stage) -> None:
    async with Rooms(stage.url, "h.p.s", settings=FAST) as rooms:
        async with aclosing(rooms.changes("alice")) as changes:
            async for change in changes:
                assert change is None, "the user's rooms are to be read first"
                break
            await stage.push_change(stage.user.store(1))
            assert await take(changes, 1) == ["n1"]

        assert not stage.user.subscribers
        assert rooms.channel is None
        assert stage.frames[-1] | {"requestId": ""} == {"action": "unsubscribe", "userId": "alice", "requestId": ""}
        await rooms.follow("kitchen")
        await stage.push(stage.rooms["kitchen"].store(1))
        assert (await anext(aiter(rooms)))["message"] == "n1"  # type: ignore[arg-type]


async def test_a_later_loop_continues_from_the_position_of_an_earlier_one(stage: Stage) -> None:
    async with Rooms(stage.url, "h.p.s", settings=FAST) as rooms, aclosing(rooms.changes("alice")) as changes:
        await take(changes, 1)
        await stage.push_change(stage.user.store(1))
        assert await take(changes, 1) == ["n1"]
        assert rooms.channel is not None
        position = rooms.channel.position
    for number in range(2, 40):
        stage.user.store(number)

    async with Rooms(stage.url, "h.p.s", settings=FAST) as rooms, aclosing(rooms.changes("alice", position)) as changes:
        assert await take(changes, 38) == [f"n{number}" for number in range(2, 40)]


async def test_changes_of_a_gap_come_once_and_in_order(stage: Stage) -> None:
    async with Rooms(stage.url, "h.p.s", settings=FAST) as rooms, aclosing(rooms.changes("alice")) as changes:
        await take(changes, 1)
        await stage.push_change(stage.user.store(1))
        await stage.cut()
        for number in range(2, 5):
            stage.user.store(number)
        await until(lambda: rooms.connection.opens == 2 and bool(stage.user.subscribers))
        await stage.push_change(stage.user.store(5))

        assert await take(changes, 5) == ["n1", "n2", "n3", "n4", "n5"]


async def test_a_user_that_may_not_be_followed_ends_the_loop_with_the_reason(stage: Stage) -> None:
    refused: list[tuple[str, str]] = []
    note = lambda user, error: refused.append((user, error.code))  # noqa: E731
    async with Rooms(stage.url, "h.p.s", settings=FAST, refused=note) as rooms:
        stage.fail["subscribe"] = ["forbidden"]
        with pytest.raises(Refused, match="forbidden"):
            await take(rooms.changes("bob"), 1)
        assert rooms.channel is None

        async with aclosing(rooms.changes("alice")) as changes:
            await take(changes, 1)
            stage.fail["resume of the user"] = ["forbidden"]
            with pytest.raises(Refused, match="forbidden"):
                await take(changes, 1)

    assert refused == [("alice", "forbidden")]


async def test_a_refused_token_ends_the_loop_too(stage: Stage) -> None:
    async with Rooms(stage.url, "h.p.s", settings=FAST) as rooms, aclosing(rooms.changes("alice")) as changes:
        await take(changes, 1)
        stage.refuses = True
        await stage.cut()

        async with asyncio.timeout(30):
            with pytest.raises(Refused, match="unauthorized"):
                await anext(changes)
