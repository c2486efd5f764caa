"""Every operation has a method in both clients, and a command or a reason why there is none."""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import headrace_client
from headrace_client import AsyncHeadrace, Headrace
from headrace_client.cli.commands import cli
from localstage.services.typescript_client import ensure_typescript_client
from tests.worlds.described_stage import running
from tests.worlds.node import node
from tools.api_reference.clients import COMMANDS, FRAMES, NO_COMMAND
from tools.python_client.operations import snake

ROOT = Path(__file__).parents[3]
REFERENCE = ROOT / "docs" / "reference"
HTTP, WEBSOCKET = (json.loads((REFERENCE / f"{name}.json").read_text()) for name in ("openapi", "asyncapi"))
OPERATIONS = {
    f"{method.upper()} {path}": each["operationId"]
    for path, methods in HTTP["paths"].items()
    for method, each in methods.items()
}
LINES = {
    "ads clicks": "spring-sale",
    "ads send": '{"adId":"a","adType":"video"}',
    "ads stats": "spring-sale",
    "ads take-back": '{"adId":"a","adType":"video","clickedAt":"2025-11-21T10:00:00Z","userId":"c","clickId":"c-3"}',
    "ads user": "alice",
    "attachments": "kitchen 2025-11-21T10:00:58.722861Z#m-1#fpmansl7byak",
    "delete-room": "shed --confirm shed",
    "discard": "--confirm 1",
    "erase": "frank --confirm frank",
    "erasure": "frank --wait",
    "export": "--wait",
    "history": "kitchen",
    "online": "kitchen",
    "parked": "--return main",
    "react": "kitchen 2025-11-21T10:00:58.722861Z#m-1#fpmansl7byak up",
    "reactions": "kitchen 2025-11-21T10:00:58.722861Z#m-1#fpmansl7byak",
    "replies": "kitchen 2025-11-21T10:00:58.722861Z#m-1#fpmansl7byak",
    "retention": "kitchen 30",
    "send": "kitchen hello",
    "ski day": "2025 34 1201",
    "ski day-vertical": "7 2025 34 1201",
    "ski days": "2025 1201",
    "ski hours": "7 2025 34",
    "ski lift": "7 2025 34 4",
    "ski rides": "2025 34",
    "ski seasons": "7",
    "ski send": '{"resortID":7,"seasonID":2025,"dayID":34,"skierID":1201,"time":228,"liftID":15}',
    "ski skiers": "7 2025 34",
    "ski take-back": '{"resortID":7,"seasonID":2025,"dayID":34,"skierID":1201,"time":228,"liftID":15}',
    "ski vertical": "1201 --resort 7",
    "stream events": "doors",
    "stream send": 'doors {"door":"front","badge":"alice"}',
    "stream top": "doors --by method",
    "stream window": "doors",
    "unreact": "kitchen 2025-11-21T10:00:58.722861Z#m-1#fpmansl7byak",
}
"""The arguments of commands that need some."""
ENDED = {
    "GET /parked": {"parked": 2},
    "POST /parked/return": {"returned": 2, "left": 0},
    "GET /users/{userId}/erasure": {"state": "done"},
}
"""Fields of the examples' answers with which the commands end well."""


def test_every_operation_has_a_python_method_and_a_command_or_a_reason() -> None:
    commands = Counter(each for asked in (*COMMANDS.values(), *NO_COMMAND.values()) for each in asked.split())

    assert commands == Counter(OPERATIONS.values())
    for name in OPERATIONS.values():
        assert callable(getattr(AsyncHeadrace, snake(name)))
        assert callable(getattr(Headrace, snake(name)))


def test_every_frame_has_a_method_in_both_clients() -> None:
    on_connections = {
        name for name, each in WEBSOCKET["operations"].items() if each["channel"]["$ref"] == "#/channels/connection"
    }
    source = (ROOT / "clients" / "typescript" / "src" / "headrace.ts").read_text()

    assert FRAMES.keys() == on_connections
    for frame in FRAMES.values():
        found: Any = headrace_client.connection if frame.python.startswith("Connection") else headrace_client
        for name in frame.python.split("."):
            found = getattr(found, name)
        method = frame.typescript.partition("(")[0]
        assert re.search(rf"^(export class |  (async )?){method}\b", source, re.M), method


def test_every_operation_and_no_other_is_one_of_the_typescript_client(tmp_path: Path) -> None:
    client = asyncio.run(ensure_typescript_client(ROOT / ".local", ROOT))
    page = (REFERENCE / "clients.md").read_text()
    lists = [key for key, name in OPERATIONS.items() if f"`{snake(name)}`, `items`" in page]
    actions = [name for name, each in WEBSOCKET["operations"].items() if "reply" in each]
    types = {"Operation": [*OPERATIONS], "Listing": lists, "Action": actions}
    code = f'import type {{ {", ".join(types)} }} from "{client}/dist/index.js";\n' + "".join(
        f"const all{name} = {json.dumps(keys)} as const satisfies readonly {name}[];\n"
        f"export const other{name}: Exclude<{name}, (typeof all{name})[number]>[] = [] satisfies never[];\n"
        f"export const none{name}: never[] = other{name};\n"
        for name, keys in types.items()
    )
    (tmp_path / "matrix.ts").write_text(code)
    target = ["--target", "es2022", "--module", "es2022", "--moduleResolution", "bundler"]

    node(client / "node_modules/typescript/bin/tsc", "--noEmit", "--strict", *target, tmp_path / "matrix.ts")

    assert len(lists) > 5


@pytest.mark.parametrize("command", COMMANDS)
async def test_a_command_asks_the_operations_that_the_table_names(command: str) -> None:
    async with running(REFERENCE) as stage:
        for key, answer in ENDED.items():
            examples = stage.operations[key]["responses"]["200"]["content"]["application/json"]["examples"]
            examples["ok"]["value"] |= answer
        environ = {"HEADRACE": stage.http_url, "WS": stage.ws_url, "TOKEN": "h.p.s"}
        line = [*command.split(), *LINES.get(command, "").split()]
        result = await asyncio.to_thread(CliRunner().invoke, cli, line, env=environ)

    assert result.exit_code == 0, result.output
    assert {OPERATIONS[key] for key in stage.asked} == {*COMMANDS[command].split()}
    assert (stage.wrong, stage.unknown) == ([], set())


async def test_both_clients_ask_each_operation_as_described_without_its_optional_fields(tmp_path: Path) -> None:
    """Where all fields of a body are optional and left out, the body is an object without fields."""
    client = await ensure_typescript_client(ROOT / ".local", ROOT)
    async with running(REFERENCE) as stage:
        asked: dict[str, dict[str, str]] = {}
        for key, operation in stage.operations.items():
            content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
            schema = stage.http.resolved(content.get("schema", {}))
            required = [each for each in operation.get("parameters", ()) if each["required"]]
            if schema.get("required") or {"anyOf", "oneOf"} & schema.keys() or any(e["in"] != "path" for e in required):
                continue
            given = stage.arguments(operation)
            asked[key] = {each["name"]: str(given[each["name"]]) for each in required}
        (tmp_path / "ask.mjs").write_text(
            f'import {{ Headrace }} from "{client}/dist/index.js";\n'
            f'const headrace = new Headrace({{ httpUrl: "{stage.http_url}", wsUrl: "", token: "h.p.s" }});\n'
            f"for (const [key, given] of Object.entries({json.dumps(asked)})) await headrace.request(key, given);\n"
            "headrace.close();\n"
        )
        await asyncio.to_thread(node, tmp_path / "ask.mjs")
        async with AsyncHeadrace(stage.http_url, "h.p.s") as python:
            for key, given in asked.items():
                body = {"body": {}} if stage.operations[key].get("requestBody", {}).get("required") else {}
                await getattr(python, snake(OPERATIONS[key]))(*given.values(), **body)

    assert (stage.wrong, stage.unknown) == ([], set())
    assert Counter(stage.asked) == dict.fromkeys(asked, 2)
    assert {"POST /users/{userId}/erasure", "DELETE /rooms/{roomId}/members/{userId}"} < asked.keys()


async def test_tail_follows_with_the_frames_that_the_table_names() -> None:
    async with running(REFERENCE) as stage:
        environ = {"HEADRACE": stage.http_url, "WS": stage.ws_url, "TOKEN": "h.p.s"}
        result = await asyncio.to_thread(CliRunner().invoke, cli, ["tail", "kitchen", "--count", "1"], env=environ)

    assert "dinner is ready" in result.output
    assert {"subscribe", "history"} <= set(stage.asked)
    assert (stage.wrong, stage.unknown) == ([], set())
