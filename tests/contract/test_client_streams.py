"""Declared streams in the Python client: events are sent once, read, counted, and imported from a file."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from click.testing import CliRunner, Result

from headrace_client import AsyncHeadrace, Headrace, NotAccepted, Refused, SendSettings
from headrace_client.cli.commands import cli

FAST = SendSettings(first_rate=1e6, lowest_rate=1e5, first_pause=0.001, longest_pause=0.01)
FIELDS = {
    "door": {"type": "string"},
    "badge": {"anyOf": [{"type": "string"}, {"type": "null"}]},
    "heldMs": {"type": "integer"},
    "isOpen": {"anyOf": [{"type": "boolean"}, {"type": "null"}]},
    "timestamp": {"anyOf": [{"type": ["string", "integer"]}, {"type": "null"}]},
}
DOORS = {"name": "doors", "key": "door", "schema": {"properties": FIELDS}}
LATER = {"code": "rate_limited", "message": "later", "retryAfter": 0.001}
NEVER = {"code": "invalid_event", "message": "door is wrong", "details": [{"field": "door", "allowed": "a name"}]}


class Stage:
    """Stores the events of the stream doors by id and time. The door ``wrong`` is refused.

    Each of ``script`` answers a request: a status refuses it, and of a number of events the rest is limited.
    """

    def __init__(self) -> None:
        self.script: list[int] = []
        self.sent: list[list[Any]] = []
        self.asked: list[tuple[str, dict[str, str]]] = []
        self.rows: dict[tuple[str, Any], dict[str, Any]] = {}
        self.url = ""

    async def post(self, request: web.Request) -> web.Response:
        body = await request.json()
        self.sent.append(body.get("events", [body]))
        accepted = self.script.pop(0) if self.script else 500
        if request.match_info["stream"] != "doors":
            return web.json_response({"error": {"code": "not_found", "message": "no such stream"}}, status=404)
        if accepted > 500 or accepted in (429, 503):
            return web.json_response({"error": {"code": "unavailable", "message": "away"}}, status=accepted)
        return web.json_response({"results": list(map(self.result, self.sent[-1], range(accepted, -500, -1)))})

    def result(self, event: Any, left: int) -> dict[str, Any]:
        if left <= 0:
            return {"error": LATER}
        if event.get("door") == "wrong":
            return {"error": NEVER}
        self.rows[event["eventId"], event.get("timestamp")] = event
        return {"lane": "main"}

    async def get(self, request: web.Request) -> web.Response:
        self.asked.append((request.path, dict(request.query)))
        if request.path == "/streams":
            return web.json_response({"items": [DOORS]})
        is_last = "cursor" in request.query
        items = [{"n": 2}] if is_last else [{"n": 1}]
        return web.json_response({"items": items, "next": None if is_last else "c1", "hasMore": not is_last})


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    made, app = Stage(), web.Application(client_max_size=2**23)
    app.router.add_post("/streams/{stream}/events", made.post)
    app.router.add_get("/{path:.*}", made.get)
    async with TestServer(app) as running:
        made.url = str(running.make_url("")).rstrip("/")
        yield made


async def test_an_event_gets_an_id_and_stays_the_same_when_it_is_sent_again(stage: Stage) -> None:
    stage.script = [503, 429, 0, 500, 503]
    async with AsyncHeadrace(stage.url, "h.p.s", FAST) as client:
        sent = await client.stream("doors").send({"door": "front"})
        await client.send_events("doors", {"events": [{"door": "front"}, {"door": "front", "eventId": "own"}]})

    first, *others, second, third = stage.sent
    assert (sent.lane, [sent.event]) == ("main", first)
    assert others == [first] * 3
    assert second == third
    assert second[0]["eventId"] != first[0]["eventId"]
    assert second[1] == {"door": "front", "eventId": "own"}


async def test_each_of_many_events_has_a_result_and_only_the_limited_are_repeated(stage: Stage) -> None:
    stage.script = [500, 1]
    events = [{"door": "wrong" if number == 500 else "front", "n": number} for number in range(503)]

    def in_thread() -> Any:
        with Headrace(stage.url, "h.p.s", FAST) as client:
            with pytest.raises(NotAccepted, match=r"\(allowed: door: a name\)"):
                client.stream("doors").send({"door": "wrong"})
            return client.stream("doors").send_many(each for each in events)

    async with AsyncHeadrace(stage.url, "h.p.s", FAST) as client:
        sent = await client.stream("doors").send_many(events)
    assert [each["n"] for batch in stage.sent[1:] for each in batch] == [500, 501, 502, 501, 502]
    blocking = await asyncio.to_thread(in_thread)

    for results in (sent, blocking):
        assert [each.event["n"] for each in results] == [*range(503)]
        assert [(each.event["n"], each.error) for each in results if not each.is_accepted] == [(500, NEVER)]
    assert len({each.event["eventId"] for each in [*sent, *blocking]}) == 2 * 503


async def test_events_are_read_by_the_streams_own_key_or_by_user_page_after_page(stage: Stage) -> None:
    def in_thread() -> list[Any]:
        with Headrace(stage.url, "h.p.s") as client:
            return [*client.stream("doors").items(key="front", start="1", limit=1)]

    async with AsyncHeadrace(stage.url, "h.p.s") as client:
        doors = client.stream("doors")
        found = [each async for each in doors.items(key="front", start="1", limit=1)]
        assert found == await asyncio.to_thread(in_thread) == [{"n": 1}, {"n": 2}]
        path = "/streams/doors/events"
        pages = [
            (path, {"door": "front", "from": "1", "limit": "1"}),
            (path, {"door": "front", "cursor": "c1", "limit": "1"}),
        ]
        assert stage.asked == [("/streams", {}), *pages] * 2
        await doors.page(user="al", end="2")
        assert stage.asked[-1] == ("/streams/doors/users/al/events", {"to": "2"})
        found = [each async for each in client.items(client.list_events, "doors", filters={"door": "front"})]
        assert stage.asked[-1] == (path, {"door": "front", "cursor": "c1"})
        with pytest.raises(ValueError, match="not both"):
            await doors.page(key="front", user="al")
        with pytest.raises(Refused, match="there is no stream 'windows'; there are: doors"):
            await client.stream("windows").describe()


async def test_windows_are_filtered_by_fields_in_both_clients(stage: Stage) -> None:
    asked: dict[str, dict[str, Any]] = {"window": {"top": 3, "method": "card"}, "top": {"by": "method", "userId": "al"}}
    asked |= {"series": {"step": 60, "door": "front"}, "active_users": {"method": "card"}}

    def in_thread() -> None:
        with Headrace(stage.url, "h.p.s") as client:
            for name, query in asked.items():
                getattr(client.stream("doors"), name)("1", "2", **query)

    async with AsyncHeadrace(stage.url, "h.p.s") as client:
        for name, query in asked.items():
            await getattr(client.stream("doors"), name)("1", "2", **query)
    await asyncio.to_thread(in_thread)

    paths = [f"/streams/doors/{name.replace('_', '-')}" for name in asked]
    texts = [{"from": "1", "to": "2"} | {name: str(value) for name, value in each.items()} for each in asked.values()]
    assert stage.asked == [*zip(paths, texts, strict=True)] * 2


def names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


async def imported(stage: Stage, file: Path, *options: str, stream: str = "doors") -> Result:
    environ = {"HEADRACE": stage.url, "TOKEN": "h.p.s", "HEADRACE_PROFILE": ""}
    return await asyncio.to_thread(
        CliRunner().invoke, cli, [*options, "stream", "import", stream, str(file)], env=environ
    )


async def test_an_import_goes_on_where_it_ended_and_stores_each_line_once(stage: Stage, tmp_path: Path) -> None:
    file, refused = tmp_path / "doors.jsonl", tmp_path / "doors.jsonl.refused.jsonl"
    lines = [json.dumps({"door": f"d{number % 7}", "n": number}) for number in range(3000)]
    lines[1], lines[2500], lines[2999] = "{", '{"door": "wrong"}', '{"door": "a", "eventId": "own", "timestamp": 5}'
    file.write_text("\n\n".join(lines))
    stage.script = [500, 500, 500, 500, 100, *[503] * 900]
    first = await imported(stage, file, "--retry-timeout", "0.5")
    stage.script = []
    told, before = refused.read_text(), len(stage.sent)
    with refused.open("a") as opened:
        opened.write('{"line": 1500}')  # as if it was killed before it kept what it had written
    second = await imported(stage, file, "--json")

    assert first.exit_code == second.exit_code == 1
    assert "of 5,998 lines; the same command goes on" in first.output
    assert json.loads(second.stdout)["accepted"] == 2998 == len(stage.rows)
    assert Counter(each.get("n") for each in stage.rows.values()) == Counter({*range(2999)} - {1, 2500}) + Counter(
        [None]
    )
    assert stage.rows["own", 5]["door"] == "a"
    assert 0 not in {each.get("n") for sent in stage.sent[before:] for each in sent}
    assert [json.loads(line)["line"] for line in refused.read_text().splitlines()] == [3, 5001]
    assert refused.read_text().startswith(told)
    assert "line 5001: door is wrong (allowed: door: a name)" in second.stderr
    file.write_text("{}")
    assert "its content was" in (await imported(stage, file)).output


async def test_cells_have_the_types_of_the_schema_and_empty_ones_are_left_out(stage: Stage, tmp_path: Path) -> None:
    file = tmp_path / "doors.csv"
    file.write_bytes(
        b'\xef\xbb\xbfdoor,heldMs,isOpen,timestamp,badge\n1,2,true,3,"a\nb"\n007,x,,2026-11-30T08:00:00Z,5\n'
    )

    assert (await imported(stage, file)).exit_code == 0
    assert [{name: value for name, value in row.items() if name != "eventId"} for row in stage.rows.values()] == [
        {"door": "1", "heldMs": 2, "isOpen": True, "timestamp": 3, "badge": "a\nb"},
        {"door": "007", "heldMs": "x", "timestamp": "2026-11-30T08:00:00Z", "badge": "5"},
    ]
    assert names(tmp_path) == ["doors.csv", "doors.csv.headrace"]


async def test_an_import_that_cannot_begin_can_begin_elsewhere(stage: Stage, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("dor\nfront\n")
    (tmp_path / "a.jsonl").write_text('{"door": "front"}')

    assert "the column 'dor' is no field" in (await imported(stage, tmp_path / "a.csv")).output
    assert "not_found: no such stream" in (await imported(stage, tmp_path / "a.jsonl", stream="windows")).output
    (tmp_path / "a.csv").write_text("door\nfront\n")
    for name in ("a.csv", "a.jsonl"):
        assert (await imported(stage, tmp_path / name)).exit_code == 0
    assert len(stage.rows) == 2
