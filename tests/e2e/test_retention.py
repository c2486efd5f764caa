"""A room's own days on a whole stage: what is older is on no page, in no frame and in no conversation."""

from __future__ import annotations

import time

from headrace.streams.chat.rooms.retention import RETENTION_SECONDS
from tests.e2e.clients import PATIENCE, Client, now, unique, until
from tests.e2e.conftest import RunningStage
from tests.e2e.test_live import Subscriber
from tests.e2e.test_rooms import ok, send


def test_old_messages_are_gone_from_every_answer_and_do_not_come_back(platform: RunningStage) -> None:
    alice, room = Subscriber(platform, unique("alice")), unique("room")
    importer = Client(platform, None, "events:write", "chat:read")
    user = alice.client
    joined = {"createdAt": now(days=-30), "createdBy": user.user}
    ok(importer, "PUT", f"/rooms/{room}", {"kind": "members", **joined})
    position = alice.request("subscribe", room)["position"]
    for days, text in ((-20, "oldest"), (-3, "older"), (0, "new")):
        sent = {"timestamp": now(days=days), "userId": user.user, "username": "Alice"}
        assert send(importer, room, message=text, **sent)[0] == 202

    def texts(path: str = f"/rooms/{room}/messages") -> list[str]:
        items = user.http("GET", path)[1]["items"]
        return [item["message"] for item in items if item["messageType"] == "TEXT"]

    paths = (f"/rooms/{room}/messages", f"/users/{user.user}/messages", f"/rooms/{room}/messages?since={position}")
    until(lambda: [sorted(texts(path)) for path in paths], lambda found: found == [["new", "older", "oldest"]] * 3)

    assert ok(user, "PATCH", f"/rooms/{room}", {"retentionDays": 7})["retentionDays"] == 7

    shown = [["new", "older"]] * 3
    until(lambda: [sorted(texts(path)) for path in paths], lambda found: found == shown, RETENTION_SECONDS + PATIENCE)
    time.sleep(RETENTION_SECONDS)  # until each environment has read the room again, also that of persist_events
    assert ok(user, "GET", f"/rooms/{room}")["retentionDays"] == 7
    (conversation,) = ok(user, "GET", f"/users/{user.user}/rooms")["items"]
    assert (conversation["retentionDays"], conversation["lastMessage"]["message"]) == (7, "new")
    assert send(importer, room, message="too old", timestamp=now(days=-8))[0] == 202
    assert send(importer, room, message="last")[0] == 202
    assert "too old" not in alice.wait_for("last")
    resumed = alice.socket.request({"action": "resume", "requestId": "r", "rooms": {room: position}})["rooms"][room]
    assert {"oldest", "too old"}.isdisjoint(item["message"] for item in resumed["items"])

    for days in (30, None):
        ok(user, "PATCH", f"/rooms/{room}", {"retentionDays": days})
        assert sorted(texts()) == ["last", "new", "older"]
