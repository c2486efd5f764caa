"""The health route checks the write path and the read path."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest
from pydantic import TypeAdapter

from headrace.api.router import Api, http_handler
from headrace.health.health import CHECK_SECONDS, KEPT_SECONDS, PARTS, check_health
from headrace.health.parts import Parts
from tests.worlds.functions import routes_of
from tests.worlds.senders import CLOCK


def fails() -> None:
    raise OSError("down")


def works() -> None:
    return None


def parts_of(checks: dict[str, Any], seconds: float = CHECK_SECONDS) -> Parts:
    return Parts(checks, CLOCK, seconds, KEPT_SECONDS)


def answer_of(checks: dict[str, Any], seconds: float = CHECK_SECONDS) -> tuple[int, Any]:
    found = check_health(parts_of(checks, seconds), None)  # type: ignore[arg-type]
    return found.status, found.body


@pytest.mark.parametrize(
    ("down", "status", "word"),
    [
        ((), 200, "ok"),
        (("broker",), 200, "degraded"),
        (("cache",), 200, "degraded"),
        (("retryLane", "cache"), 200, "degraded"),
        (("broker", "retryLane"), 503, "down"),
        (("table",), 503, "down"),
    ],
)
def test_health_is_good_while_events_are_accepted_and_history_is_read(
    down: tuple[str, ...], status: int, word: str
) -> None:
    answered, body = answer_of({name: fails if name in down else works for name in PARTS})

    assert (answered, body["status"]) == (status, word)
    assert {name for name, state in body["parts"].items() if state != "ok"} == set(down)


def test_a_dependency_that_never_answers_is_unreachable() -> None:
    forever = threading.Event()
    try:
        _, body = answer_of({**dict.fromkeys(PARTS, works), "broker": forever.wait}, seconds=0.05)
    finally:
        forever.set()

    assert body["parts"] == {"broker": "unreachable", "retryLane": "ok", "table": "ok", "cache": "ok"}


@pytest.mark.parametrize(("check", "status"), [(works, 200), (fails, 503)])
def test_the_health_route_returns_the_state_without_a_token(check: Any, status: int) -> None:
    routes = routes_of("check_health")
    health = parts_of(dict.fromkeys(PARTS, check))

    answer = http_handler(Api(routes, lambda: health, CLOCK))({"routeKey": "GET /health", "requestContext": {}})

    found = json.loads(answer["body"])
    model: TypeAdapter[Any] = TypeAdapter(routes["GET /health"].answer)
    assert answer["statusCode"] == status
    assert model.dump_python(model.validate_python(found)) == found
