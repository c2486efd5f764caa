"""The operators' commands: wrong arguments get one sentence that says what is allowed."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from click.testing import CliRunner

from headrace_client import Headrace
from headrace_client.cli.commands import cli
from headrace_client.http import checked
from ops.__main__ import cli as ops


def answered(monkeypatch: pytest.MonkeyPatch, status: int, answer: dict[str, Any]) -> list[str]:
    """Answer every request with ``answer``; returns the requested paths with their queries."""
    asked: list[str] = []

    def request(_: Headrace, _method: str, path: str, query: Any = None, body: Any = None) -> Any:
        asked.append(f"{path}?{urlencode(query or {})}")
        return checked(status, None, answer)

    monkeypatch.setattr(Headrace, "request", request)
    monkeypatch.setenv("HEADRACE", "http://127.0.0.1:1")
    monkeypatch.setenv("TOKEN", "e30.e30.e30")
    return asked


def letter(**changes: Any) -> dict[str, Any]:
    """A dead letter as the API shows it."""
    known = {"id": "i-1", "firstFailedAt": "2026-01-01T00:00:00.000000Z", "reason": "unknown_stream"}
    return {**known, "stream": "unknown", "events": 1, "attempts": 5, "message": "no stream", **changes}


def listing(*items: dict[str, Any]) -> dict[str, Any]:
    return {"items": list(items), "count": len(items), "scanned": len(items), "complete": True, "reasons": {}}


@pytest.mark.parametrize("field", ["id", "firstFailedAt", "reason", "stream", "message", "body"])
def test_a_dead_letter_cannot_control_the_terminal(monkeypatch: pytest.MonkeyPatch, field: str) -> None:
    """A record on the broker may hold any text: also terminal commands, and the markup of the library that prints."""
    answered(monkeypatch, 200, listing(letter(**{field: "[red]x[/nope]\x1b[31m\x9b\u202e"})))

    result = CliRunner().invoke(cli, ["dead-letters", "--bodies"])

    assert result.exit_code == 0, result.exception
    assert not set(result.output) & set("\x1b\x9b\u202e")
    assert "[red]x[/nope]" in result.output


def test_the_command_says_that_texts_were_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    answered(monkeypatch, 200, listing(letter(body="{}", textsWithheld={"deleted": 1, "unchecked": 0})))

    result = CliRunner().invoke(cli, ["dead-letters", "--bodies"])

    assert "1 left out: the texts of deleted messages" in result.output
    assert "looked up" not in result.output


def test_a_refused_filter_says_what_is_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    detail = {"field": "reason", "message": "is not known", "got": "nope", "allowed": "not_json, storable"}
    error = {"error": {"code": "invalid_request", "message": "reason is not known", "details": [detail]}}
    answered(monkeypatch, 400, error)

    result = CliRunner().invoke(cli, ["dead-letters", "--reason", "nope"])

    assert result.exit_code == 1
    assert result.output == "headrace: invalid_request: reason is not known (allowed: reason: not_json, storable)\n"


def test_a_stage_with_a_mistake_in_a_declaration_is_not_started(tmp_path: Path) -> None:
    (tmp_path / "doors.py").write_text("\nSTREAM = 1\n")

    result = CliRunner().invoke(ops, ["features", "all", "--streams", str(tmp_path)])

    assert result.exit_code == 1
    assert result.output == "headrace: streams/doors.py:1: STREAM is 1; allowed: STREAM = Stream(…)\n"
