"""The health route checks the write path and the read path."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest
from pydantic import TypeAdapter

from headrace.api.router import Api, http_handler
from headrace.operations.health import CHECK_SECONDS, KEPT_SECONDS, Health
from tests.worlds.functions import routes_of
from tests.worlds.senders import CLOCK

PARTS = ("broker", "retryLane", "table", "cache")


def fails() -> None:
    raise OSError("down")


def works() -> None:
    return None


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
    health = Health({name: fails if name in down else works for name in PARTS})

    answered, body = health.answer()

    assert (answered, body["status"]) == (status, word)
    assert {name for name, state in body["parts"].items() if state != "ok"} == set(down)


def test_health_is_cached_for_some_seconds() -> None:
    asked: list[float] = []
    now = [100.0]
    checks = dict.fromkeys(("broker", "retryLane", "cache"), works)
    health = Health({**checks, "table": lambda: asked.append(now[0])}, monotonic=lambda: now[0])

    for step in (0, KEPT_SECONDS / 2, KEPT_SECONDS + 0.1):
        now[0] = 100.0 + step
        health.answer()

    assert asked == [100.0, 100.0 + KEPT_SECONDS + 0.1]


def test_a_dependency_that_never_answers_delays_health_up_to_its_timeout() -> None:
    forever = threading.Event()
    ticks = iter([0.0, 0.0, CHECK_SECONDS * 2, CHECK_SECONDS * 2, CHECK_SECONDS * 2, CHECK_SECONDS * 2])
    health = Health(
        {"broker": forever.wait, "retryLane": works, "table": works, "cache": works}, monotonic=lambda: next(ticks)
    )
    try:
        _, body = health.answer()
    finally:
        forever.set()

    assert body["parts"]["broker"] == "unreachable"


@pytest.mark.parametrize(("check", "status"), [(works, 200), (fails, 503)])
def test_the_health_route_returns_the_state_without_a_token(check: Any, status: int) -> None:
    routes = routes_of("check_health")
    health = Health(dict.fromkeys(PARTS, check))

    answer = http_handler(Api(routes, lambda: health, CLOCK))({"routeKey": "GET /health", "requestContext": {}})

    found = json.loads(answer["body"])
    model: TypeAdapter[Any] = TypeAdapter(routes["GET /health"].answer)
    assert answer["statusCode"] == status
    assert model.dump_python(model.validate_python(found)) == found
