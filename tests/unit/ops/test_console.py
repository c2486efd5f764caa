"""The console is published into the bucket of its stack, and its numbers are right."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from ops import aws, console
from ops.__main__ import cli
from tests.worlds.node import node

OUTPUTS = {
    "HttpUrl": "https://http.test",
    "SignInUrl": "https://people.test",
    "ClientId": "people-1",
    "OperatorSignInUrl": "https://operators.test",
    "OperatorClientId": "operators-1",
}
CONSOLE = {"ConsoleBucket": "files-1", "ConsoleUrl": "https://d1.test/"}


class Aws:
    """Answers for a stack with these outputs, and keeps what is put into buckets."""

    def __init__(self, outputs: dict[str, str]) -> None:
        self.outputs = outputs
        self.objects: dict[str, dict[str, Any]] = {}

    def call(self, _service: str, operation: str, **arguments: Any) -> Any:
        if operation == "put_object":
            self.objects[arguments["Key"]] = arguments
            return {}
        outputs = [{"OutputKey": key, "OutputValue": value} for key, value in self.outputs.items()]
        parameters = [{"ParameterKey": "ScopePrefix", "ParameterValue": "headrace/"}]
        return {"Stacks": [{"StackStatus": "UPDATE_COMPLETE", "Outputs": outputs, "Parameters": parameters}]}


def published(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, outputs: dict[str, str]) -> tuple[Aws, Any]:
    page, script = tmp_path / "index.html", tmp_path / "main.js"
    page.write_text("<!doctype html>")
    script.write_text("export {};")
    cloud = Aws(outputs)
    for module in (aws, console):
        monkeypatch.setattr(module, "call", cloud.call)

    async def bundle(_: Path) -> dict[str, Path]:
        return {"console/main.js": script, "index.html": page}

    monkeypatch.setattr(console, "bundle", bundle)
    return cloud, CliRunner().invoke(cli, ["publish-console", "--stack", "headrace-dev"])


def test_the_console_is_published_with_the_addresses_of_its_stack(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    cloud, result = published(monkeypatch, tmp_path, OUTPUTS | CONSOLE)

    assert (result.exit_code, result.output) == (0, "published https://d1.test/\n")
    kinds = {key: (one["Bucket"], one["ContentType"], one["CacheControl"]) for key, one in cloud.objects.items()}
    assert kinds == {
        "index.html": ("files-1", "text/html; charset=utf-8", "no-cache"),
        "console/main.js": ("files-1", "text/javascript; charset=utf-8", "no-cache"),
        "console/config.json": ("files-1", "application/json; charset=utf-8", "no-cache"),
    }
    config = json.loads(cloud.objects["console/config.json"]["Body"])
    assert (config["httpUrl"], config["scopePrefix"]) == ("https://http.test", "headrace/")
    assert config["logins"] == [
        {
            "name": "people",
            "authorizeUrl": "https://people.test/oauth2/authorize",
            "tokenUrl": "https://people.test/oauth2/token",
            "clientId": "people-1",
            "scopes": ["chat:read", "chat:write"],
        },
        {
            "name": "operators",
            "authorizeUrl": "https://operators.test/oauth2/authorize",
            "tokenUrl": "https://operators.test/oauth2/token",
            "clientId": "operators-1",
            "scopes": ["ops"],
        },
    ]


def test_a_stack_without_a_console_is_said_in_a_sentence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    cloud, result = published(monkeypatch, tmp_path, OUTPUTS)

    assert result.exit_code == 1
    assert "headrace-dev has no console; deploy it with the parameter Console=on" in result.output
    assert cloud.objects == {}


def test_the_console_says_what_the_counts_and_the_lanes_say() -> None:
    node("--test", console.ROOT / "console" / "tests" / "without-browser.test.mjs")
