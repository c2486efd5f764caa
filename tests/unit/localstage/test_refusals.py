"""The stage's log says why a request is refused with a bare 401, 403 or 404."""

from __future__ import annotations

import pytest

from localstage.gateway.refusals import nearest

KEYS = ("GET /rooms", "GET /rooms/{roomId}", "GET /rooms/{roomId}/messages", "POST /rooms/{roomId}/messages")


@pytest.mark.parametrize(
    ("method", "path", "reason"),
    [
        ("GET", "/rooms/lobby/message", "did you mean GET /rooms/{roomId}/messages"),
        ("POST", "/room/lobby/messages", "did you mean POST /rooms/{roomId}/messages"),
        ("GET", "/room", "did you mean GET /rooms"),
        ("DELETE", "/rooms/lobby", "there is no DELETE for this path, only GET /rooms/{roomId}"),
        ("GET", "/", "there is no such path"),
        ("GET", "/favicon.ico", "there is no such path"),
    ],
)
def test_a_path_without_a_route_is_answered_with_the_nearest_one(method: str, path: str, reason: str) -> None:
    assert nearest(method, path, KEYS) == reason
