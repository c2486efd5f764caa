"""The channel of a user on a whole stage: what it tells, and what a connection resumes."""

from __future__ import annotations

from typing import Any

from tests.e2e.clients import Client, now, unique
from tests.e2e.conftest import RunningStage


def test_a_user_receives_invitations_memberships_names_and_read_marks(platform: RunningStage) -> None:
    alice, bob, room = Client(platform), Client(platform), unique("room")
    assert alice.http("PUT", f"/rooms/{room}", {"kind": "members"})[0] == 200
    socket, other = bob.connect(), Client(platform).connect()
    refused = other.request({"action": "subscribe", "requestId": "r", "userId": bob.user})
    assert refused["error"]["code"] == "forbidden"
    position = socket.request({"action": "subscribe", "requestId": "r", "userId": bob.user})["position"]
    steps: list[tuple[Client, str, str, Any, str]] = [
        (alice, "PUT", f"/rooms/{room}/members/{bob.user}", None, "invitation"),
        (bob, "PUT", f"/rooms/{room}/members/{bob.user}", None, "membership"),
        (alice, "PATCH", f"/rooms/{room}", {"name": "Kitchen"}, "room"),
        (bob, "PUT", f"/rooms/{room}/read", {"upTo": now()}, "readMark"),
        (alice, "DELETE", f"/rooms/{room}/members/{bob.user}", None, "membership"),
    ]

    received: list[dict[str, Any]] = []
    for user, method, path, body, changed in steps:
        answer = user.http(method, path, body)
        assert answer[0] == 200, answer
        frame = socket.receive()
        assert [(each["changed"], each["roomId"]) for each in frame["items"]] == [(changed, room)]
        received += frame["items"]

    assert bob.http("GET", f"/rooms/{room}")[1]["membership"]["state"] == "left"
    again = socket.request({"action": "resume", "requestId": "r", "users": {bob.user: position}})
    assert again["users"][bob.user] | {"position": ""} == {
        "items": received,
        "missed": False,
        "hasMore": False,
        "position": "",
    }
    asks = {"action": "check", "requestId": "r", "subscribe": False}
    for at, has_new in ((position, True), (again["users"][bob.user]["position"], False)):
        answer = socket.request({**asks, "users": {bob.user: at}})
        assert answer["users"][bob.user]["hasNew"] is has_new
