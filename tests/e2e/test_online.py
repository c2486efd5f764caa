"""Who follows a room, on a whole stage."""

from __future__ import annotations

from tests.e2e.clients import Client, now, unique, until
from tests.e2e.conftest import RunningStage
from tests.e2e.test_live import Subscriber


def test_who_follows_a_room_is_listed_until_the_connection_ends(platform: RunningStage) -> None:
    alice, bob, room = Client(platform), Subscriber(platform), unique("room")
    assert alice.http("PUT", f"/rooms/{room}", {"kind": "open"})[0] == 200
    began, position = now(), bob.request("subscribe", room)["position"]
    frame = {"action": "check", "requestId": unique("r"), "rooms": {room: position}}
    assert room in bob.socket.request(frame)["rooms"]

    code, answer, _ = alice.http("GET", f"/rooms/{room}/online")

    (item,) = answer["items"]
    assert (code, item["userId"], item["connections"], answer["missing"]) == (200, bob.user, 1, [])
    assert began <= item["checkedAt"] <= now()
    bob.socket.close()
    until(lambda: alice.http("GET", f"/rooms/{room}/online")[1]["items"], lambda items: items == [])
