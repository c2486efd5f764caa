"""Every log line of a request has the request's id, as in the access log of the API."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from headrace.runtime import observability
from headrace.runtime.observability import LogThrottle, logger
from tests.unit.template_stack import ROOT
from tests.worlds.functions import app

FUNCTIONS = sorted(path.parent.name for path in (ROOT / "functions").glob("*/app.py"))
ROUTED = [name for name in FUNCTIONS if hasattr(app(name), "ROUTES")]
FRAMES = {"read_frame", "receive_frame", "renew_connection"}
"""Functions whose answer is a frame: to API Gateway, the request succeeded."""
OPERATORS = {"check_health", "manage_dead_letters", "read_status", "return_parked"}


class BrokenAuthorizer:
    """A value that raises an unexpected error when the router reads it."""

    def __getitem__(self, key: str) -> Any:
        raise RuntimeError(key)


def event_of(name: str) -> dict[str, Any]:
    """An event of the first route, with the fields of every kind of API."""
    key, route = next(iter(app(name).ROUTES.items()))
    context = {"requestId": f"id-of-{name}", "routeKey": key, "authorizer": BrokenAuthorizer()}
    body = '{"token": "header.payload.signature"}' if route.body else None
    return {"routeKey": key, "requestContext": context, "body": body}


def test_the_operators_functions_answer_through_the_router() -> None:
    assert set(ROUTED) >= OPERATORS


@pytest.mark.parametrize("name", ROUTED)
def test_a_failure_is_logged_with_the_id_of_its_request(
    name: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The environment has no settings: a route without a token fails for these, the others for their authorizer."""
    monkeypatch.setattr(observability, "_throttle", LogThrottle())
    logger.set_correlation_id("id-of-an-earlier-request")

    answer = app(name).handler(event_of(name), None)

    lines = [json.loads(logger.registered_formatter.format(record)) for record in caplog.records]
    assert answer["statusCode"] == (200 if name in FRAMES else 500)
    assert "something went wrong on our side" in answer["body"]
    assert [line["correlation_id"] for line in lines] == [f"id-of-{name}"]


def test_the_page_for_auditors_has_each_line_of_a_step_of_an_operator() -> None:
    page = (ROOT / "docs" / "how-to" / "audit-a-stage.md").read_text()
    code = "".join(path.read_text() for path in (ROOT / "layers" / "headrace").rglob("*.py"))
    lines = re.findall(r'\baudit\("([^"]+)"', code)

    assert len(lines) > 10
    assert [line for line in lines if f"`{line}`" not in page] == []
