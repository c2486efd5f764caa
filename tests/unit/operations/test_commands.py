"""The operators' commands, `python -m ops`: wrong arguments get one sentence that says what is allowed."""

from __future__ import annotations

import json

import pytest
import urllib3
from click.testing import CliRunner

from localstage.client.http_api import HttpApi
from ops.__main__ import cli


def test_a_budget_of_a_stage_that_is_not_configured_is_refused() -> None:
    result = CliRunner().invoke(cli, ["budget", "--config-env", "nope"])

    assert result.exit_code == 1
    assert result.output.startswith("headrace: samconfig.toml has no stage nope; it has default, dev, staging, prod")


def test_a_refused_filter_says_what_is_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    detail = {"field": "reason", "message": "is not known", "got": "nope", "allowed": "not_json, storable"}
    error = {"error": {"code": "invalid_request", "message": "reason is not known", "details": [detail]}}
    refusal = urllib3.HTTPResponse(json.dumps(error).encode(), status=400)
    monkeypatch.setattr(urllib3.PoolManager, "request", lambda *_, **__: refusal)
    monkeypatch.setattr("ops.__main__.find", lambda _: HttpApi("http://127.0.0.1:1"))

    result = CliRunner().invoke(cli, ["dead-letters", "--reason", "nope"])

    assert result.exit_code == 1
    assert result.output == (
        "headrace: HTTP 400 invalid_request: reason is not known (allowed: reason: not_json, storable)\n"
    )
