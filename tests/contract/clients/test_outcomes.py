"""What other programs answer ends a request or a connection of both clients alike, or is tried again."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from headrace_client import AsyncHeadrace, ConnectionSettings, HeadraceError, NotAccepted, Refused, Rooms, SendSettings
from localstage.services.install import node_program
from localstage.services.typescript_client import ensure_typescript_client
from tests.contract.clients.front import HALF, HALF_FRAME, SLOW, closed, frame, in_front, page
from tests.worlds.described_stage import running

ROOT = Path(__file__).parents[3]
REFERENCE = ROOT / "docs" / "reference"
SENDING = SendSettings(first_pause=0.01, longest_pause=0.05, retry_timeout=60.0)
FOLLOWING = ConnectionSettings(answer_timeout=1.0, first_pause=0.01, longest_pause=0.05, connect_timeout=60.0)
RIDE = {"resortID": 7, "seasonID": 2025, "dayID": 34, "skierID": 1201, "time": 217, "liftID": 15}
Job = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """How a work ends after these answers of a front; the last of ``tokens`` is given again and again."""

    work: str
    answers: tuple[bytes, ...] = ()
    ends: str = "ok"
    tokens: tuple[str, ...] = ("h.p.s",)
    is_text: bool = False


BAD_GATEWAY, ELSEWHERE = page("502 Bad Gateway"), page("302 Found", "Location: https://login.example/?next=secret")
UNAUTHORIZED, ASKS = page("401 Unauthorized"), page("407 Proxy Authentication Required", "Proxy-Authenticate: Basic")
NO_TOKENS = ("", "<html>\n<h1>502</h1></html>", '{"error": "no"}', "Bearer h.p.s", "h.p.ü", "\r\n h.p.s\n")
HTTP = {
    "a page of a proxy": ((BAD_GATEWAY, page("504 Gateway Timeout")), "ok"),
    "a limit without a time": ((page("429 Too Many Requests"),), "ok"),
    "a redirect": ((ELSEWHERE,), "invalid_answer"),
    "a page of another site": ((page("200 OK"),), "invalid_answer"),
    "a proxy that asks who": ((ASKS,), "407"),
    "a token that is refused once": ((UNAUTHORIZED,), "ok"),
    "a token that is refused": ((UNAUTHORIZED, UNAUTHORIZED), "unauthorized"),
}
WEBSOCKET = {
    "a page of a proxy": ((BAD_GATEWAY, BAD_GATEWAY, BAD_GATEWAY), "ok"),
    "a redirect": ((ELSEWHERE,), "ok"),
    "a proxy that asks who": ((ASKS,), "ok"),
    "slow headers": ((SLOW,), "ok"),
    "a restart": ((closed(1012), closed(1012)), "ok"),
    "later, please": ((closed(1013), closed(1013)), "ok"),
    "half a frame": ((HALF_FRAME,), "ok"),
    "half a text": ((frame('{"type": "mess'),), "ok"),
    "a text that is no object": ((frame('"hello"'), frame("null")), "ok"),
    "a token that is refused once": ((UNAUTHORIZED,), "ok"),
    "a token that is refused": ((UNAUTHORIZED,) * 8, "unauthorized"),
    "an unknown error": ((frame('{"type": "messages", "roomId": "kitchen", "position": 5, "items": []}'),), "failed"),
}
CASES = {
    **{f"{work}: {name}": Case(work, *each) for work in ("read", "send") for name, each in HTTP.items()},
    **{f"follow: {name}": Case("follow", *each) for name, each in WEBSOCKET.items()},
    "read: slow headers": Case("read", (SLOW, SLOW)),
    "read: half an answer": Case("read", (HALF,)),
    "send: slow headers": Case("send", (SLOW,)),
    "rides: a page of a proxy": Case("rides", (BAD_GATEWAY,)),
    "clicks: half an answer": Case("clicks", (HALF, BAD_GATEWAY)),
    **{f"{work}: no tokens": Case(work, tokens=NO_TOKENS) for work in ("read", "send", "follow")},
    **{
        f"{work}: a text {text!r}": Case(work, ends="invalid_token", tokens=(text,), is_text=True)
        for work in ("read", "send", "follow")
        for text in NO_TOKENS[:-1]
    },
    **{f"{work}: a text with space": Case(work, tokens=(" h.p.s\n",), is_text=True) for work in ("send", "follow")},
}
IN_TYPESCRIPT = {"read: a proxy that asks who": "ok", "send: a proxy that asks who": "ok"}
"""Where that client differs: ``fetch`` does not show a 407 to a program, so it is tried again."""
WRONG = ("", "localhost:9600", "//host", "ftp://host", "https://a:b@host", "wss://host?x=1", "wss://host#x", "no url")


async def in_python(jobs: list[Job]) -> list[str]:
    """How the jobs end with the Python client."""
    return await asyncio.gather(*(outcome(**each) for each in jobs))


async def in_typescript(jobs: list[Job]) -> list[str]:
    """How the jobs end with the TypeScript client."""
    client = await ensure_typescript_client(ROOT / ".local", ROOT)
    node = await asyncio.create_subprocess_exec(
        *(node_program(), Path(__file__).with_name("outcomes.mjs"), client),
        env={**os.environ, "NODE_USE_ENV_PROXY": "1", "NODE_NO_WARNINGS": "1"},
        stdin=-1,
        stdout=-1,
        stderr=-1,
    )
    printed, errors = await node.communicate(json.dumps({"jobs": jobs, "ride": RIDE}).encode())
    assert (node.returncode, errors.decode()) == (0, "")
    return [str(each) for each in json.loads(printed)]


CLIENTS = pytest.mark.parametrize("drive", [in_python, in_typescript])
Drive = Callable[[list[Job]], Awaitable[list[str]]]


async def outcome(work: str, http: str, ws: str, tokens: Sequence[str], is_text: bool) -> str:
    """How one job ends: "ok", or the code of its error."""
    left = [*tokens]
    token: Any = tokens[0] if is_text else lambda: left.pop(0) if len(left) > 1 else left[0]
    try:
        if work == "follow":
            await follow(ws, token)
            return "ok"
        async with AsyncHeadrace(http, token, SENDING, answer_seconds=1.0) as client:
            if work == "read":
                await client.list_messages("kitchen")
            elif work == "send":
                await client.send([{"roomId": "kitchen", "message": "hello"}])
            elif work == "rides":
                await client.send([RIDE], "rides")
            else:
                await client.send([{"adId": "a1", "adType": "banner"}], "clicks")
    except NotAccepted as error:
        return str((error.sent[0].error or {})["code"])
    except HeadraceError as error:
        return str(getattr(error, "code", "failed" if error.__cause__ else error))
    return "ok"


async def follow(url: str, token: Any) -> None:
    async with Rooms(url, token, settings=FOLLOWING) as rooms:
        try:
            await rooms.follow("kitchen")
            async for _ in rooms:
                return
        except HeadraceError as error:
            for later in (rooms.follow("den"), anext(aiter(rooms))):
                with pytest.raises(type(error)):
                    await later
            raise
        raise AssertionError("the loop ended as if all were well")


def job(case: Case, address: str) -> Job:
    urls = {"http": f"http://{address}", "ws": f"ws://{address}/ws"}
    return {"work": case.work, **urls, "tokens": [*case.tokens], "is_text": case.is_text}


@CLIENTS
async def test_what_other_programs_answer_is_tried_again_or_ends_with_its_reason(drive: Drive) -> None:
    async with running(REFERENCE) as stage, AsyncExitStack() as stack:
        fronts = [await stack.enter_async_context(in_front(each.answers, stage.http_url)) for each in CASES.values()]
        ends = await drive([job(case, address) for case, (_, address) in zip(CASES.values(), fronts, strict=True)])

    wanted = {name: case.ends for name, case in CASES.items()} | (IN_TYPESCRIPT if drive is in_typescript else {})
    assert dict(zip(CASES, ends, strict=True)) == wanted
    for (name, case), (front, _) in zip(CASES.items(), fronts, strict=True):
        assert (front.answers == [] and front.asked != []) or case.ends in ("unauthorized", "invalid_token"), name
        assert front.asked == [] or case.ends != "invalid_token", name
    assert (stage.wrong, stage.unknown) == ([], set())


@CLIENTS
async def test_an_address_out_of_form_is_refused_at_once(drive: Drive) -> None:
    jobs = [{**job(Case(work), "h"), "http": url, "ws": url} for work in ("read", "follow") for url in WRONG]
    jobs += [{**job(Case("read"), "h"), "http": "ws://host"}, {**job(Case("follow"), "h"), "ws": "http://host"}]

    assert await drive(jobs) == ["invalid_url"] * len(jobs)


@CLIENTS
async def test_requests_and_websockets_go_through_the_proxy_of_the_environment(
    drive: Drive, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(REFERENCE) as stage, in_front((), stage.http_url) as (front, address):
        monkeypatch.setenv("HTTP_PROXY", f"http://{address}")
        ends = await drive([job(Case(work), "headrace.test") for work in ("read", "follow")])

    assert ends == ["ok", "ok"]
    assert len(front.asked) == 2
    assert all("headrace.test" in line for line in front.asked)


async def test_encrypted_requests_and_websockets_go_through_one_proxy_too(monkeypatch: pytest.MonkeyPatch) -> None:
    tokens = iter(["h.p.s", "h.p.s"])

    def token() -> str:
        if found := next(tokens, ""):
            return found
        raise Refused("enough", "the first attempt was seen")

    async with in_front((ASKS, ASKS), "http://127.0.0.1:1") as (front, address):
        monkeypatch.setenv("HTTPS_PROXY", f"http://{address}")
        async with AsyncHeadrace("https://headrace.test", token) as client:
            with pytest.raises(Refused, match="407"):
                await client.list_messages("kitchen")
        with pytest.raises(Refused, match="enough"):
            await follow("wss://headrace.test/ws", token)

    assert front.asked == ["CONNECT headrace.test:443 HTTP/1.1"] * 2
