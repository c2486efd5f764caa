"""Each request counts for its caller's limit: over both protocols, and per kind of request."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from headrace.api.params import NoFields, Params
from headrace.api.rates.rate_limiter import CHANGES, CONNECTIONS, MEMBERS, READS, ROOMS, RateLimiter, SharedCounts
from headrace.api.router import Api, Handler, Route, connection_handler, frame_handler, http_handler
from headrace.core.times import SystemClock
from headrace.runtime.settings import RateSettings
from tests.fakes.commands import MemoryCommands
from tests.worlds.functions import routes_of
from tests.worlds.requests import http_event

SETTINGS = RateSettings(event_rate=9, request_rate=20)


class MemberPath(Params):
    room_id: str
    user_id: str


class Mark(Params):
    position: int


def answer(_services: object, _request: object) -> dict[str, Any]:
    return {}


HTTP = {
    "GET /x": Route(answer),
    "GET /y": Route(answer, limit=READS),
    "PUT /rooms": Route(answer, limit=ROOMS),
    "PUT /rooms/{roomId}/members/{userId}": Route(answer, path=MemberPath, limit=MEMBERS),
    "PUT /marks": Route(answer, body=Mark),
    "GET /analytics": Route(answer, scopes=("analytics:read",)),
    "GET /open": Route(answer, scopes=None),
}
MOST = 100
"""Reads in a window."""


class Limited:
    """Routers of one environment, and the time."""

    def __init__(self, settings: RateSettings = SETTINGS, cache: MemoryCommands | None = None) -> None:
        self.now = 1000.0
        self.limiter = RateLimiter(settings, SharedCounts(cache) if cache else None, lambda: self.now)
        parts: tuple[Any, ...] = (lambda: None, SystemClock())
        self.http = http_handler(Api(HTTP, *parts, limiter=lambda: self.limiter))
        self.renewals = 0
        actions = {
            "history": Route(answer_frame, body=NoFields),
            "authenticate": routes_of("renew_connection")["authenticate"],
        }
        self.frames = frame_handler(Api(actions, *parts, limiter=lambda: self.limiter), renewed=self.renewed)
        self.connect = connection_handler(
            Api({"$connect": Route(answer, limit=CONNECTIONS)}, *parts, limiter=lambda: self.limiter)
        )

    def renewed(self, _connection_id: str) -> int:
        self.renewals += 1
        return 0

    def get(
        self, key: str = "GET /x", user: str = "alice", scope: str = "", body: str | None = None, **path: str
    ) -> dict[str, Any]:
        return self.http(http_event(key, body, user=user, scope=scope, path=path))

    def member(self, user: str, caller: str = "alice") -> int:
        return int(self.get("PUT /rooms/{roomId}/members/{userId}", caller, roomId="r", userId=user)["statusCode"])

    def frame(self, key: str, router: Handler) -> dict[str, Any]:
        claims = {"sub": "alice", "scope": "chat:read", "exp": "4102444800"}
        context = {"requestId": "r-7", "routeKey": key, "connectionId": "c-1", "authorizer": claims}
        return router({"requestContext": context, "body": json.dumps({"action": key, "requestId": "q-1"})})

    def code(self, key: str, body: str, exp: str = "4102444800") -> str:
        """The code of the error that answers a frame."""
        claims = {"sub": "alice", "scope": "chat:read", "exp": exp}
        context = {"requestId": "r-7", "routeKey": key, "connectionId": "c-1", "authorizer": claims}
        reply = json.loads(self.frames({"requestContext": context, "body": body})["body"])
        return str(reply["error"]["code"])


def answer_frame(_services: object, _request: object) -> dict[str, Any]:
    return {"type": "history"}


def limit_of(reply: Mapping[str, Any]) -> tuple[str, str]:
    return reply["headers"]["ratelimit-policy"], reply["headers"]["ratelimit"]


def test_a_request_over_the_callers_limit_is_a_429_that_says_when_to_return() -> None:
    limited = Limited()

    replies = [limited.get() for _ in range(MOST + 1)]

    assert [each["statusCode"] for each in replies] == [200] * MOST + [429]
    error = json.loads(replies[-1]["body"])["error"]
    assert (error["code"], error["correlationId"]) == ("rate_limited", "r-1")
    assert "20 reads/s, measured over 5 s" in error["message"]
    assert replies[-1]["headers"]["retry-after"] == str(error["retryAfter"])
    assert replies[-1]["headers"]["x-request-id"] == "r-1"
    assert limited.get(user="bob")["statusCode"] == 200
    limited.now += error["retryAfter"]
    assert limited.get()["statusCode"] == 200


def test_every_answer_says_what_is_left_of_its_limit() -> None:
    limited = Limited()

    assert limit_of(limited.get()) == ('"reads";q=100;w=5', f'"reads";r={MOST - 1};t=5')
    assert limit_of(limited.get("GET /y")) == ('"reads";q=100;w=5', f'"reads";r={MOST - 2};t=5')
    assert limit_of(limited.get("PUT /rooms")) == ('"rooms";q=5;w=5', '"rooms";r=4;t=5')
    assert "ratelimit" not in limited.get("GET /open")["headers"]


def test_a_frame_over_the_limit_is_an_error_frame_and_shares_the_limit_of_http() -> None:
    limited = Limited()
    for _ in range(MOST - 1):
        limited.get()

    first, second = (json.loads(limited.frame("history", limited.frames)["body"]) for _ in range(2))

    assert first["type"] == "history"
    assert (second["type"], second["requestId"], second["error"]["code"]) == ("error", "q-1", "rate_limited")
    assert second["error"]["retryAfter"] >= 1


def test_a_user_opens_only_so_many_connections_per_second() -> None:
    limited = Limited()

    statuses = [limited.frame("$connect", limited.connect)["statusCode"] for _ in range(6)]

    assert statuses == [200] * 5 + [429]


def test_changes_of_other_members_have_a_stricter_limit_than_own_ones() -> None:
    limited = Limited()

    assert [limited.member("alice") for _ in range(11)] == [200] * 10 + [429]
    assert [limited.member(f"user-{number}") for number in range(6)] == [200] * 5 + [429]
    assert limited.get()["statusCode"] == 200


def test_trusted_callers_have_the_trusted_rate_for_every_kind() -> None:
    assert {Limited().get(scope="events:write")["statusCode"] for _ in range(100)} == {200}
    limited = Limited(RateSettings(trusted_event_rate=1))
    statuses = [limited.get("PUT /rooms", scope="events:write")["statusCode"] for _ in range(6)]
    assert statuses == [200] * 5 + [429]
    assert limited.get("PUT /rooms")["statusCode"] == 200


def test_routes_that_can_change_another_users_rooms_have_the_strict_limit() -> None:
    routes = routes_of("manage_rooms")
    limits = {key: route.limit for key, route in routes.items() if not key.startswith("GET ")}

    assert limits["PUT /rooms/{roomId}"] == ROOMS
    assert limits["PATCH /rooms/{roomId}"] == CHANGES
    for key, limit in limits.items():
        if "/members/" in key or "/direct/" in key:
            assert "members" in (limit.kind, limit.of_others), key


@pytest.mark.parametrize(
    ("key", "path", "body", "status"),
    [
        ("GET /analytics", {}, None, 403),
        ("PUT /rooms/{roomId}/members/{userId}", {"roomId": "r"}, None, 400),
        ("PUT /marks", {}, "{no json", 400),
        ("PUT /marks", {}, '{"position": "wrong"}', 400),
        ("GET /unknown", {}, None, 404),
    ],
)
def test_a_request_that_is_refused_as_wrong_counts_like_any_other(
    key: str, path: dict[str, str], body: str | None, status: int
) -> None:
    limited = Limited()

    statuses = [limited.get(key, body=body, **path)["statusCode"] for _ in range(MOST + 1)]

    assert statuses[0] == status
    assert statuses[-1] == 429


@pytest.mark.parametrize("body", ["{no json", '{"action": "dance"}', '{"action": "history", "limit": 0, "x": 1}'])
def test_every_frame_counts_also_one_that_is_not_understood(body: str) -> None:
    limited = Limited()

    codes = [limited.code("history" if "history" in body else "$default", body) for _ in range(MOST + 1)]

    assert codes == ["invalid_request"] * MOST + ["rate_limited"]


def test_a_new_token_for_a_connection_counts_as_a_change_also_after_the_first_has_expired() -> None:
    limited = Limited()

    codes = [limited.code("authenticate", '{"action": "authenticate"}', exp="1") for _ in range(11)]

    assert codes == ["invalid_request"] * 10 + ["rate_limited"]


def test_frames_after_the_tokens_expiry_count_before_a_newer_token_is_looked_for() -> None:
    limited = Limited()

    codes = [limited.code("history", '{"action": "history"}', exp="1") for _ in range(MOST + 1)]

    assert codes == ["token_expired"] * MOST + ["rate_limited"]
    assert limited.renewals == MOST
