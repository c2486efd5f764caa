"""What the command line of the Python client prints."""

from __future__ import annotations

import json
from typing import Any

import pytest
from click.testing import CliRunner, Result

from headrace_client import Headrace
from headrace_client.cli.commands import cli

HOSTILE = "[red]x[/nope]\x1b[31m\x9b\u202e"
FOUND = {"timestamp": "2025-11-21T10:00:58.722861Z", "username": "bob", "message": HOSTILE}


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Any]]:
    """The requests of commands; each is answered with one message whose text is hostile."""
    requests: list[tuple[str, Any]] = []

    def request(_: Headrace, _method: str, path: str, query: Any = None, body: Any = None) -> Any:
        requests.append((path, query or body))
        return {"items": [FOUND], "next": None, "hasMore": False}

    monkeypatch.setattr(Headrace, "request", request)
    return requests


def headrace(*arguments: str, **variables: str) -> Result:
    return CliRunner().invoke(cli, arguments, env={"HEADRACE": "http://127.0.0.1:1", "TOKEN": "t", **variables})


@pytest.mark.parametrize("options", [(), ("--json",)])
@pytest.mark.parametrize("command", [("history", "lobby"), ("window",)])
def test_a_text_cannot_control_the_terminal(
    asked: list[Any], options: tuple[str, ...], command: tuple[str, ...]
) -> None:
    result = headrace(*options, *command)

    assert result.exit_code == 0, result.output
    assert not set(result.output) & set("\x1b\x9b\u202e")
    assert "[red]x[/nope]" in result.output


def test_programs_get_the_whole_object(asked: list[Any]) -> None:
    assert json.loads(headrace("--json", "history", "lobby").output) == FOUND


def test_a_missing_variable_is_named_with_what_sets_it() -> None:
    result = headrace("history", "lobby", HEADRACE="")

    assert result.exit_code == 2
    assert 'HEADRACE is not set; for the local stage: eval "$(make -s env)"' in result.output
