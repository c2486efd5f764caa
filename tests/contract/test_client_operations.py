"""Each operation of the HTTP API is a method of the Python client, with coroutines and without."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import AsyncIterator
from email.utils import formatdate
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from headrace_client import AsyncHeadrace, Headrace, RateLimited, Refused, SendSettings, Unavailable, Unreachable

FAST = SendSettings(first_pause=0.001, longest_pause=0.01)
Asked = tuple[str, str, dict[str, str], Any]


class Server:
    """Answers each request with the next of ``answers``, or else with an empty page."""

    def __init__(self) -> None:
        self.answers: list[tuple[int, Any, dict[str, str]]] = []
        self.asked: list[Asked] = []
        self.queries: list[str] = []
        self.url = ""

    async def answer(self, request: web.Request) -> web.Response:
        text = await request.text()
        self.queries.append(request.query_string)
        self.asked.append((request.method, request.path, dict(request.query), json.loads(text) if text else None))
        status, body, headers = self.answers.pop(0) if self.answers else (200, page([]), {})
        return web.json_response(body, status=status, headers=headers)


def page(items: list[str], after: str | None = None) -> dict[str, Any]:
    return {"items": items, "next": after, "hasMore": after is not None}


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    made, app = Server(), web.Application()
    app.router.add_route("*", "/{path:.*}", made.answer)
    async with TestServer(app) as running:
        made.url = str(running.make_url(""))
        yield made


async def test_a_redrive_is_repeated_only_after_a_refusal_for_its_rate(server: Server) -> None:
    async with AsyncHeadrace(server.url, "h.p.s", FAST) as client:
        server.answers = [(429, {"message": "Too Many Requests"}, {}), (503, {}, {})]
        with pytest.raises(Unavailable, match="503"):
            await client.redrive_dead_letters({"reason": "storable"})

    assert len(server.asked) == 2


async def test_a_request_waits_as_retry_after_and_rate_limit_say(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    slept: list[float] = []
    sleep = asyncio.sleep

    async def note(seconds: float) -> None:
        slept.append(seconds)
        await sleep(0)

    soon = formatdate(time.time() + 90, usegmt=True)
    server.answers = [(429, {"message": "m"}, {"Retry-After": "2"}), (503, None, {"Retry-After": soon})]
    server.answers += [(200, page([]), {"RateLimit": '"reads;all"; t=5; r=0'})]
    async with AsyncHeadrace(server.url, "h.p.s", FAST) as client:
        monkeypatch.setattr("headrace_client.client.asyncio.sleep", note)
        await client.list_resorts()
        await client.list_resorts()
        monkeypatch.undo()

    number, date, limit = (round(each) for each in slept if each > 0.1)
    assert (number, limit) == (2, 5)
    assert 60 < date <= 90


async def test_errors_say_what_was_refused_and_where_nothing_listens(server: Server, unused_tcp_port: int) -> None:
    server.answers = [(404, {"error": {"code": "not_found", "message": "there is no such room"}}, {})]
    async with AsyncHeadrace(server.url, "h.p.s", FAST) as client:
        with pytest.raises(Refused, match="not_found: there is no such room"):
            await client.get_room("nowhere")
        server.answers = [(429, {"message": "Too Many Requests"}, {"Retry-After": "121"})]
        with pytest.raises(RateLimited):
            await client.get_room("lobby")
    async with AsyncHeadrace(f"http://127.0.0.1:{unused_tcp_port}", "h.p.s") as client:
        with pytest.raises(Unreachable, match=str(unused_tcp_port)):
            await client.get_room("lobby")


async def test_a_client_outside_of_its_with_statement_says_so(server: Server) -> None:
    with pytest.raises(RuntimeError, match="with statement"):
        await AsyncHeadrace(server.url, "h.p.s", FAST).get_health()


def test_a_client_that_cannot_open_leaves_no_thread() -> None:
    with pytest.raises(TypeError, match="no_such_option"), Headrace("http://127.0.0.1", "h.p.s", no_such_option=True):
        pass

    assert "headrace_client" not in {each.name for each in threading.enumerate()}


@pytest.mark.parametrize("room_id", ["", ".", ".."])
async def test_an_id_that_could_change_the_path_is_refused_before_it_is_sent(room_id: str, server: Server) -> None:
    async with AsyncHeadrace(server.url, "h.p.s") as client:
        with pytest.raises(ValueError, match="cannot be part of a path"):
            await client.get_room(room_id)

    assert server.asked == []


async def test_items_reads_page_after_page(server: Server) -> None:
    pages = [page(["a", "b"], "c1"), page([], "c2"), page(["c"])]
    server.answers = [(200, each, {}) for each in [*pages, *pages]]

    def in_thread() -> list[Any]:
        with Headrace(server.url, "h.p.s") as client:
            return list(client.items(client.list_messages, "lobby", limit=2))

    async with AsyncHeadrace(server.url, "h.p.s") as client:
        found = [each async for each in client.items(client.list_messages, "lobby", limit=2)]

    assert found == await asyncio.to_thread(in_thread) == ["a", "b", "c"]
    assert [query for _, _, query, _ in server.asked] == [
        {"limit": "2"},
        {"cursor": "c1", "limit": "2"},
        {"cursor": "c2", "limit": "2"},
    ] * 2


async def test_each_value_of_a_list_is_a_parameter_and_a_flag_is_a_word(server: Server) -> None:
    async with AsyncHeadrace(server.url, "h.p.s") as client:
        await client.get_vertical(7, resort=[1, 2])
        await client.request("GET", "/dead-letters", {"bodies": True})

    assert server.queries == ["resort=1&resort=2", "bodies=true"]


@pytest.mark.parametrize(
    ("asked", "then"),
    [({"since": "p1"}, {"since": "p1", "before": "older"}), ({"after": "c0"}, {"cursor": "newer"})],
)
async def test_pages_since_a_position_keep_it_and_those_after_one_go_on_to_newer_items(
    server: Server, asked: dict[str, str], then: dict[str, str]
) -> None:
    server.answers = [(200, {**page(["b", "a"], "older"), "previous": "newer"}, {}), (200, page(["c"]), {})]
    async with AsyncHeadrace(server.url, "h.p.s") as client:
        found = [str(each) async for each in client.items(client.list_messages, "lobby", **asked)]

    assert found == ["b", "a", "c"]
    assert [query for _, _, query, _ in server.asked] == [asked, then]
