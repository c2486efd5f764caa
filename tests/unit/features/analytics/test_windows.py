"""The answers of read_analytics, the scopes they need, and the refusals of invalid queries."""

from __future__ import annotations

import json
from typing import Any

import pytest

from headrace.api.router import Api, http_handler
from headrace.core import times
from headrace.features.analytics import counter
from tests.worlds.functions import routes_of
from tests.worlds.requests import Context, http_event
from tests.worlds.slot_world import SETTLE, START, SlotWorld

NOW = times.micros_of(START)
FROM, TO = times.iso(NOW - times.HOUR), times.iso(NOW)
WINDOW = {"from": FROM, "to": TO}
ROUTES = ["window", "active-users", "series"]


class AnalyticsWorld(SlotWorld):
    """Messages of an hour, and read_analytics."""

    def __init__(self) -> None:
        super().__init__()
        services = self.reader()
        self.router = http_handler(Api(routes_of("read_analytics"), lambda: services, self.clock))

    def get(
        self, route: str, query: dict[str, str] | None, scope: str = "analytics:read", exp: int = 10**11
    ) -> tuple[int, Any]:
        """The status and the body of an answer."""
        event = http_event(f"GET /analytics/{route}", user="analyst", scope=scope, query=query)
        event["requestContext"]["authorizer"]["jwt"]["claims"]["exp"] = str(exp)
        answer = self.router(event, Context(28))
        return answer["statusCode"], json.loads(answer["body"])


@pytest.fixture
def world() -> AnalyticsWorld:
    made = AnalyticsWorld()
    for second, user, room in ((0, "bob", "a"), (1, "alice", "b"), (10, "bob", "b"), (20, "zoe", "b")):
        at = NOW - times.HOUR + second * times.SECOND
        made.put(made.row(at, user, room, message_id=f"m-{second}"))
    made.clock.advance(SETTLE + 1)
    return made


def test_a_window_answers_totals_rates_users_and_rooms_with_ties_by_id(world: AnalyticsWorld) -> None:
    status, body = world.get("window", WINDOW | {"top": "2"})

    assert status == 200
    assert body == {
        "window": WINDOW,
        "asOf": times.iso(world.clock.now() - SETTLE * times.SECOND),
        "missing": {
            "storedAfter": times.iso(world.clock.now() - SETTLE * times.SECOND),
            "note": "what was stored later may not be counted yet",
        },
        "totalMessages": 4,
        "messagesPerSecond": {"window": round(4 / 3600, 6), "active": 0.2},
        "active": {"from": FROM, "to": times.iso(NOW - times.HOUR + 20 * times.SECOND)},
        "uniqueUsers": 3,
        "topUsers": [{"userId": "bob", "messages": 2}, {"userId": "alice", "messages": 1}],
        "topRooms": [{"roomId": "b", "messages": 3}, {"roomId": "a", "messages": 1}],
        "accuracy": {"exact": True},
    }


def test_a_single_message_is_a_rate_of_one_in_a_second(world: AnalyticsWorld) -> None:
    _, body = world.get("window", WINDOW | {"userId": "zoe"})

    assert body["messagesPerSecond"]["active"] == 1.0


@pytest.mark.parametrize(("step", "points"), [("60", 61), ("3600", 2), ("86400", 1)])
def test_a_series_has_a_point_for_every_step_ready_to_plot(world: AnalyticsWorld, step: str, points: int) -> None:
    start = times.iso(NOW - times.HOUR - 30 * times.SECOND)

    _, body = world.get("series", {"from": start, "to": TO, "step": step})

    assert body["step"] == int(step)
    assert len(body["points"]) == points
    assert body["points"][0]["from"] == start
    assert next(point for point in body["points"] if point["messages"]) == {
        "from": start if step == "86400" else FROM,
        "messages": 4,
        "uniqueUsers": 3,
    }


def test_a_series_of_a_month_by_minutes_fits_into_an_answer(world: AnalyticsWorld) -> None:
    end = NOW // times.DAY * times.DAY
    event = {"from": times.iso(end - 31 * times.DAY), "to": times.iso(end), "step": "60"}

    _, body = world.get("series", event)

    assert len(body["points"]) == 44_640
    assert len(json.dumps(body)) < 5_500_000


@pytest.mark.parametrize("route", ROUTES)
def test_a_window_in_the_future_is_zeros(world: AnalyticsWorld, route: str) -> None:
    future = {"from": times.iso(NOW + times.DAY), "to": times.iso(NOW + times.DAY + times.HOUR)}

    status, body = world.get(route, future)

    assert status == 200
    if route == "window":
        assert (body["totalMessages"], body["topUsers"], body["active"]) == (0, [], None)
        assert body["messagesPerSecond"] == {"window": 0.0, "active": 0.0}
    if route == "series":
        assert [point["messages"] for point in body["points"]] == [0] * 60


@pytest.mark.parametrize(
    ("route", "query", "field", "allowed"),
    [
        ("window", {"from": TO, "to": FROM}, "to", "31 days"),
        ("window", {"from": FROM, "to": times.iso(NOW + 31 * times.DAY)}, "to", "31 days"),
        ("window", {"from": FROM, "to": FROM}, "to", "1 second"),
        ("window", WINDOW | {"step": "60"}, "step", "from, to, top"),
        ("active-users", WINDOW | {"top": "3"}, "top", "from, to, roomId, userId"),
    ],
)
def test_an_invalid_parameter_is_named_with_the_allowed_values(
    world: AnalyticsWorld, route: str, query: dict[str, str], field: str, allowed: str
) -> None:
    status, body = world.get(route, query)

    assert (status, body["error"]["code"]) == (400, "invalid_request")
    (detail,) = body["error"]["details"]
    assert detail["field"] == field
    assert allowed in detail["allowed"]


def test_the_count_of_very_many_users_is_marked_as_approximate(
    world: AnalyticsWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counter.IdCounter.__init__, "__defaults__", (None, 0, None, 2))

    _, body = world.get("window", WINDOW)

    assert body["totalMessages"] == 4
    assert body["accuracy"]["exact"] is False
    assert body["accuracy"]["userId"]["uniqueWithin"] == pytest.approx(0.0081)
    assert body["accuracy"]["userId"]["countsTooLowByAtMost"] >= 1
    assert "roomId" not in body["accuracy"]
    assert body["topUsers"][0]["userId"] == "bob"


def test_the_cost_of_an_answer_is_measured(world: AnalyticsWorld, capsys: pytest.CaptureFixture[str]) -> None:
    world.get("window", WINDOW)

    assert '"AnalyticsReadUnits":[' in capsys.readouterr().out.replace(" ", "")
