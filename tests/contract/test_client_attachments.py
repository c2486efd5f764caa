"""The Python client uploads files for messages, and asks for the addresses of those that messages have."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from aiohttp import TCPConnector, web
from aiohttp.test_utils import TestServer

from headrace_client import AsyncHeadrace, Headrace, Refused, SendSettings, Unavailable
from headrace_client.attachments import LARGEST, type_of

FAST = SendSettings(first_pause=0.001, longest_pause=0.01)
IMPATIENT = SendSettings(first_pause=1e9, longest_pause=1e9, retry_timeout=0.001)
"""The next attempt would come too late."""
SIGNED = "/bucket/k%2F1?X-Amz-Credential=a%2Fb&X-Amz-SignedHeaders=content-type%3Bhost&X-Amz-Signature=c%2Bd"
HEADERS = {"Content-Type": "image/png", "If-None-Match": "*", "x-amz-tagging": "state=unnamed"}


class Stage:
    """Gives addresses, and takes the files that are put there with the next of ``statuses``, or else with 200."""

    def __init__(self) -> None:
        self.statuses: list[int] = []
        self.refusals: list[int] = []
        self.asked: list[tuple[str, Any, str]] = []
        self.put: list[tuple[str, dict[str, str], bytes]] = []
        self.url = ""
        self.text = "<xml>"

    async def begin(self, request: web.Request) -> web.Response:
        self.asked.append((request.raw_path, await request.json(), request.headers["Authorization"]))
        if self.refusals:
            return web.json_response({}, status=self.refusals.pop(0))
        upload = {"url": self.url + SIGNED, "headers": HEADERS}
        return web.json_response({"id": "a2", "upload": upload, "until": "t"}, status=201)

    async def take(self, request: web.Request) -> web.Response:
        self.put.append((request.raw_path, dict(request.headers), await request.read()))
        return web.Response(status=self.statuses.pop(0) if self.statuses else 200, text=self.text)


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    made, app = Stage(), web.Application()
    app.router.add_post("/rooms/{room}/attachments", made.begin)
    app.router.add_put("/bucket/{path:.*}", made.take)
    async with TestServer(app) as running:
        made.url = str(running.make_url("")).rstrip("/")
        yield made


async def test_a_file_is_put_to_its_address_as_it_was_signed_and_without_the_token(stage: Stage) -> None:
    async with AsyncHeadrace(stage.url, "se.cr.et") as client:
        uploaded = await client.upload("a b", b"\x89PNG", "cat.png")

    assert uploaded == {"id": "a2", "name": "cat.png", "type": "image/png", "bytes": 4}
    assert stage.asked == [("/rooms/a%20b/attachments", {"type": "image/png", "bytes": 4}, "Bearer se.cr.et")]
    ((path, headers, data),) = stage.put
    assert (path, data) == (SIGNED, b"\x89PNG")
    assert headers.items() >= {**HEADERS, "Content-Length": "4"}.items()
    assert "Authorization" not in headers
    assert "se.cr.et" not in str(headers)


async def test_storage_gets_nothing_that_was_given_for_the_api(stage: Stage) -> None:
    connector = TCPConnector()
    options: dict[str, Any] = {"headers": {"X-Key": "secret"}, "cookies": {"session": "secret"}}
    async with AsyncHeadrace(stage.url, "h.p.s", connector=connector, **options) as client:
        await client.upload("lobby", b"x", "x")
        assert not connector.closed
        await client.upload("lobby", b"x", "x")

    assert len(stage.put) == 2
    assert "secret" not in str(stage.put)


async def test_a_file_is_read_from_its_path_and_has_its_name_or_another(stage: Stage, tmp_path: Path) -> None:
    path = tmp_path / "cat.png"
    path.write_bytes(b"meow")

    def in_thread() -> Any:
        with Headrace(stage.url, "h.p.s") as client:
            return client.upload("lobby", path), client.upload("lobby", path, "notes", "text/plain")

    named, other = await asyncio.to_thread(in_thread)

    assert (named["name"], named["type"]) == ("cat.png", "image/png")
    assert (other["name"], other["type"]) == ("notes", "text/plain")
    assert [data for _, _, data in stage.put] == [b"meow"] * 2


async def test_a_path_gives_a_name_that_names_can_be(stage: Stage, tmp_path: Path) -> None:
    path = tmp_path / "C#\x07.txt"
    path.write_bytes(b"x")
    async with AsyncHeadrace(stage.url, "h.p.s") as client:
        assert (await client.upload("lobby", path))["name"] == "C__.txt"


@pytest.mark.parametrize("statuses", [[503, 409, 200], [500, 412], [412], [400, 200]])
async def test_an_upload_is_repeated_at_one_address_and_done_once_it_arrived(stage: Stage, statuses: list[int]) -> None:
    """A 400 with this code says that storage found it too slow."""
    stage.text = "<Error><Code>RequestTimeout</Code></Error>"
    stage.statuses, count = [*statuses], len(statuses)
    async with AsyncHeadrace(stage.url, "h.p.s", FAST) as client:
        await client.upload("lobby", b"x", "x")

    assert (len(stage.asked), len(stage.put)) == (1, count)


@pytest.mark.parametrize(("statuses", "is_uploaded"), [([403], True), ([403, 403], False)])
async def test_an_address_that_has_expired_is_asked_for_again_once(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, statuses: list[int], is_uploaded: bool
) -> None:
    monkeypatch.setattr("headrace_client.client.ADDRESS_SECONDS", 0.0)
    stage.statuses = [*statuses]
    async with AsyncHeadrace(stage.url, "h.p.s", FAST) as client:
        with nullcontext() if is_uploaded else pytest.raises(Refused):
            await client.upload("lobby", b"x", "x")

    assert (len(stage.asked), len(stage.put)) == (2, 2)


async def test_the_address_is_asked_for_again_after_a_temporary_error(stage: Stage) -> None:
    stage.refusals = [503, 429]
    async with AsyncHeadrace(stage.url, "h.p.s", FAST) as client:
        await client.upload("lobby", b"x", "x")

    assert len({str(body) for _, body, _ in stage.asked}) == 1
    assert (len(stage.asked), len(stage.put)) == (3, 1)


@pytest.mark.parametrize(("statuses", "error"), [([400], Refused), ([403], Refused), ([503], Unavailable)])
async def test_an_upload_that_is_not_taken_is_an_error(
    stage: Stage, statuses: list[int], error: type[Exception]
) -> None:
    stage.statuses = statuses
    async with AsyncHeadrace(stage.url, "h.p.s", IMPATIENT) as client:
        with pytest.raises(error):
            await client.upload("lobby", b"x", "x")

    assert stage.statuses == []


@pytest.mark.parametrize(
    ("data", "name", "said"),
    [
        (b"", "cat.png", "cat.png is empty; an attachment has 1 to 10,000,000 bytes"),
        (b"x" * (LARGEST + 1), "cat.png", "cat.png has 10,000,001 bytes; an attachment has at most 10,000,000"),
        (b"x", None, "1 to 128 characters, not 0"),
        (b"x", "x" * 129, "1 to 128 characters, not 129"),
    ],
)
async def test_what_cannot_be_attached_is_refused_before_it_is_sent(
    stage: Stage, data: bytes, name: str | None, said: str
) -> None:
    async with AsyncHeadrace(stage.url, "h.p.s") as client:
        with pytest.raises(ValueError, match=said):
            await client.upload("lobby", data, name)

    assert stage.asked == []


@pytest.mark.parametrize(
    ("name", "type_"),
    [
        ("cat.PNG", "image/png"),
        ("cat.webp", "image/webp"),
        ("song.ogg", "audio/ogg"),
        ("notes.txt", "text/plain"),
        ("notes.txt.gz", "application/octet-stream"),
        ("drawing.svg", "application/octet-stream"),
        ("page.html", "application/octet-stream"),
        ("cat", "application/octet-stream"),
    ],
)
def test_the_type_is_guessed_from_the_name(name: str, type_: str) -> None:
    assert type_of(name) == type_


async def test_the_request_for_an_address_gets_no_message_id_also_in_a_room_named_messages(stage: Stage) -> None:
    async with AsyncHeadrace(stage.url, "h.p.s") as client:
        await client.request("POST", "/rooms/messages/attachments", body={"type": "text/plain", "bytes": 1})

    assert stage.asked[0][1] == {"type": "text/plain", "bytes": 1}
