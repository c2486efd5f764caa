"""The Python client's live messages against a server that refuses frames, rooms and tokens."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from headrace_client import Refused, Rooms
from tests.contract.client_stage import FAST, Room, Stage, position, running_stage, take, until


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    async with running_stage() as made:
        yield made


async def test_a_forbidden_room_is_an_error_at_once_and_later(stage: Stage) -> None:
    lost: list[tuple[str, str]] = []
    async with Rooms(
        stage.url, lambda: "h.p.s", settings=FAST, refused=lambda room, error: lost.append((room, error.code))
    ) as rooms:
        stage.fail["subscribe"] = ["forbidden"]
        with pytest.raises(Refused):
            await rooms.follow("kitchen")
        await rooms.follow("kitchen")
        stage.rooms["hall"] = Room()
        await rooms.follow("hall")

        stage.fail["resume of kitchen"] = ["forbidden"]
        await until(lambda: bool(lost))
        assert list(rooms.rooms) == ["hall"]
        stage.fail["resume"] = ["forbidden"]
        await until(lambda: not rooms.rooms)

        assert lost == [("kitchen", "forbidden"), ("hall", "forbidden")]


async def test_temporary_errors_are_retried(stage: Stage) -> None:
    stage.fail = {"subscribe": ["unavailable", "internal"], "history": ["rate_limited"]}
    async with Rooms(stage.url, lambda: "h.p.s", settings=FAST) as rooms:
        await rooms.follow("kitchen", since=position(0))
        await stage.push(stage.rooms["kitchen"].store(1))

        assert await take(rooms, 1) == ["n1"]


async def test_a_limited_client_waits_on_its_connection(stage: Stage) -> None:
    async with Rooms(stage.url, lambda: "h.p.s", settings=FAST) as rooms:
        await rooms.follow("kitchen")
        for number in range(9):
            stage.rooms["kitchen"].store(number)
        stage.rooms["kitchen"].forgotten = 9
        stage.fail = {"resume": ["rate_limited"], "resume of kitchen": ["rate_limited"], "history": ["rate_limited"]}
        await until(lambda: not any(stage.fail.values()))

        assert await take(rooms, 9) == [f"n{number}" for number in range(9)]
        assert rooms.connection.opens == 1


async def test_an_outdated_cursor_fetches_the_gap_from_the_newest_page(stage: Stage) -> None:
    stage.fail = {"history": ["", "invalid_cursor"]}
    stage.rooms["kitchen"].forgotten = 20
    for number in range(20):
        stage.rooms["kitchen"].store(number)
    async with Rooms(stage.url, lambda: "h.p.s", settings=FAST) as rooms:
        await rooms.follow("kitchen", since=position(0))

        assert await take(rooms, 20) == [f"n{number}" for number in range(20)]
        assert stage.fail["history"] == []


async def test_an_expired_token_leads_to_a_new_connection(stage: Stage) -> None:
    tokens = iter(f"h.p.{number}" for number in range(1000))
    async with Rooms(stage.url, lambda: next(tokens), settings=FAST) as rooms:
        await rooms.follow("kitchen")
        stage.fail["resume"] = ["token_expired"]
        room = stage.rooms["kitchen"]
        await until(lambda: len(stage.tokens) > 1)
        room.store(1)

        assert await take(rooms, 1) == ["n1"]


async def test_a_later_connection_is_tried_for_as_long_as_it_takes(stage: Stage) -> None:
    async with Rooms(stage.url, "h.p.s", settings=replace(FAST, connect_timeout=0.01)) as rooms:
        await until(lambda: rooms.connection.opens > 0)
        stage.down = True
        await stage.cut()
        following = asyncio.create_task(rooms.follow("kitchen"))
        await asyncio.sleep(0.1)
        stage.down = False
        await following


async def test_the_log_says_when_it_connects_and_why_again_but_never_the_token(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    async def token() -> str:
        return "a-secret.to.ken"

    with caplog.at_level("DEBUG", logger="headrace_client"):
        async with Rooms(stage.url, token, settings=FAST) as rooms:
            await rooms.follow("kitchen")
            stage.down = True
            await stage.cut()
            await until(lambda: "again in" in caplog.text and "503" in caplog.text)

    assert f"connecting to {stage.url}" in caplog.text
    assert f"connected to {stage.url}" in caplog.text
    assert "a-secret.to.ken" not in caplog.text


async def test_a_token_is_renewed_on_its_connection_before_it_expires(stage: Stage) -> None:
    stage.token_seconds = 0.4
    given = (f"h.p.{number}" for number in range(10**6))
    async with Rooms(stage.url, lambda: next(given), settings=replace(FAST, renew=0.3)) as rooms:
        await rooms.follow("kitchen")
        renewed = [await stage.renewals.get() for _ in range(3)]
        await stage.push(stage.rooms["kitchen"].store(1))

        assert await take(rooms, 1) == ["n1"]
        assert (stage.tokens, renewed) == (["h.p.0"], ["h.p.1", "h.p.2", "h.p.3"])
        assert rooms.connection.opens == 1


async def test_messages_that_were_not_pushed_come_after_a_renewal(stage: Stage) -> None:
    stage.token_seconds = 0.4
    given = (f"h.p.{number}" for number in range(10**6))
    settings = replace(FAST, check_interval=60.0, renew=0.3)
    async with Rooms(stage.url, lambda: next(given), settings=settings) as rooms:
        await rooms.follow("kitchen")
        stage.rooms["kitchen"].store(1)

        assert await take(rooms, 1) == ["n1"]
        assert rooms.connection.opens == 1


async def test_a_renewal_without_a_newer_token_is_tried_again(stage: Stage) -> None:
    stage.token_seconds = 0.6
    given = iter(["h.p.0", "h.p.0", "h.p.1", *["h.p.2"] * 100])
    async with Rooms(stage.url, lambda: next(given), settings=replace(FAST, renew=0.5)) as rooms:
        await rooms.follow("kitchen")

        assert [await stage.renewals.get() for _ in range(2)] == ["h.p.0", "h.p.1"]
        assert rooms.connection.opens == 1


async def test_a_renewal_that_is_refused_leaves_the_connection_open(stage: Stage) -> None:
    stage.token_seconds = 0.1
    stage.fail["authenticate"] = ["unavailable", "forbidden"]
    async with Rooms(stage.url, lambda: "h.p.s", settings=FAST) as rooms:
        await rooms.follow("kitchen")
        for _ in ("unavailable", "forbidden"):
            await stage.renewals.get()
        await stage.push(stage.rooms["kitchen"].store(1))

        assert await take(rooms, 1) == ["n1"]
        assert (rooms.connection.opens, rooms.connection.renewals) == (1, 0)
