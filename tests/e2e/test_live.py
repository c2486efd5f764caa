"""Live messages on a whole stage reach subscribers, also after a lost connection."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime
from typing import Any

import pytest

from headrace_client import Refused, StreamFollower
from loadtest.client.websocket import ConnectionLost
from tests.e2e.clients import Client, message, now, unique, until
from tests.e2e.conftest import RunningStage


class Subscriber:
    """A user with a WebSocket."""

    def __init__(self, stage: RunningStage, user: str | None = None, *, ttl: int = 3600) -> None:
        self.client = Client(stage, user, ttl=ttl)
        self.user = self.client.user
        self.socket = self.client.connect()

    def request(self, action: str, room: str, **more: Any) -> dict[str, Any]:
        """The answer to a frame; pushed messages before it are skipped."""
        return self.socket.request({"action": action, "requestId": unique("r"), "roomId": room, **more})

    def frames_until(self, kind: str, text: str = "") -> list[dict[str, Any]]:
        """Receive until a frame of this type comes, which has ``text``; all frames up to it."""
        found: list[dict[str, Any]] = []
        while not found or found[-1]["type"] != kind or text not in str(found[-1]):
            found.append(self.socket.receive())
        return found

    def wait_for(self, *texts: str) -> dict[str, dict[str, Any]]:
        """Receive until all of ``texts`` were pushed; the pushed items by text."""
        found: dict[str, dict[str, Any]] = {}
        while not found.keys() >= set(texts):
            frame = self.socket.receive()
            assert frame["type"] == "messages", frame
            found |= {item["message"]: item for item in frame["items"]}
        return found


def test_a_signal_reaches_those_who_may_read_now_and_no_history(platform: RunningStage) -> None:
    alice, bob, carol, room = Subscriber(platform), Subscriber(platform), Subscriber(platform), unique("room")
    assert alice.client.http("PUT", f"/rooms/{room}", {"kind": "members"})[0] == 200
    for user in (bob, carol):
        alice.client.http("PUT", f"/rooms/{room}/members/{user.user}")
        user.client.http("PUT", f"/rooms/{room}/members/{user.user}")
    for user in (alice, bob, carol):
        assert user.request("subscribe", room)["type"] == "subscribed"
    assert carol.client.http("DELETE", f"/rooms/{room}/members/{carol.user}")[0] == 200

    assert alice.request("sendSignal", room, name="typing", data="…")["type"] == "signalSent"
    assert carol.request("sendSignal", room, name="typing")["error"]["code"] == "forbidden"

    (frame,) = [each for each in bob.frames_until("signal") if each["type"] == "signal"]
    assert [frame[name] for name in ("roomId", "userId", "name", "data")] == [room, alice.user, "typing", "…"]
    bob.request("sendMessage", room, message="after")
    assert "signal" not in [each["type"] for each in alice.frames_until("messages", "after")]
    carol.socket.send(json.dumps({"action": "ping", "requestId": "last"}))
    assert "signal" not in [each["type"] for each in carol.frames_until("pong")]
    texts = [item["message"] for item in alice.request("history", room)["items"]]
    assert "after" in texts
    assert "…" not in texts


def test_an_operator_sees_and_closes_the_connections_of_a_user(platform: RunningStage) -> None:
    operator, bob, room = Client(platform, None, "ops"), Subscriber(platform), unique("room")
    second = Subscriber(platform, bob.user)
    bystander = Subscriber(platform)
    bob.client.http("POST", f"/rooms/{room}/messages", {"message": "before"})
    bob.client.wait_for(room, 1)
    assert second.request("subscribe", room)["type"] == "subscribed"
    path = f"/users/{bob.user}/connections"

    def listed() -> list[dict[str, Any]]:
        status, body, _ = operator.http("GET", path)
        assert status == 200, body
        connections: list[dict[str, Any]] = body["connections"]
        return connections

    found = until(listed, lambda each: [one["rooms"] for one in each] == [[], [room]])
    assert all(one["connectedAt"] <= one["lastActiveAt"] <= now(minutes=1) for one in found)
    assert bob.client.http("GET", path)[0] == bob.client.http("DELETE", path)[0] == 403
    assert operator.http("DELETE", path)[:2] == (200, {"closed": 2, "hasMore": False})

    for each in (bob, second):
        with pytest.raises(ConnectionLost, match="closed the connection with 1000"):
            each.socket.receive()
    assert bystander.socket.request({"action": "ping", "requestId": "r"})["type"] == "pong"
    assert until(listed, lambda each: not each) == []
    # A closed connection revokes no token.
    third = Subscriber(platform, bob.user)
    assert third.request("subscribe", room)["type"] == "subscribed"
    until(listed, lambda each: len(each) == 1)
    assert bob.client.http("DELETE", "/connections")[:2] == (200, {"closed": 1, "hasMore": False})
    with pytest.raises(ConnectionLost, match="closed the connection with 1000"):
        third.socket.receive()
    assert bystander.socket.request({"action": "ping", "requestId": "r"})["type"] == "pong"


def test_a_subscriber_gets_each_message_as_history_shows_it(platform: RunningStage) -> None:
    alice, bob, room = Subscriber(platform), Subscriber(platform), unique("room")

    answer = bob.request("subscribe", room)
    assert alice.request("sendMessage", room, message="grüße, 世界")["type"] == "ack"
    alice.client.http("POST", "/messages/batch", {"events": [message(room, "two"), message(unique("room"), "other")]})
    received = bob.wait_for("grüße, 世界", "two")

    assert answer["type"] == "subscribed"
    assert "other" not in received
    shown = {item["message"]: item for item in alice.client.wait_for(room, 2)}
    assert all(shown[text] == item for text, item in received.items())


def test_a_connection_whose_token_is_renewed_hears_on(platform: RunningStage) -> None:
    alice, room = Subscriber(platform), unique("room")
    bob = Subscriber(platform, ttl=8)

    def authenticate(token: str) -> dict[str, Any]:
        return bob.socket.request({"action": "authenticate", "requestId": unique("r"), "token": token})

    expiry = datetime.fromisoformat(bob.request("subscribe", room)["tokenExpiresAt"])
    assert authenticate(alice.client.token)["error"]["code"] == "forbidden"
    assert authenticate("x.y.z")["error"]["code"] == "unauthorized"
    renewed = authenticate(Client(platform, bob.user).token)
    assert datetime.fromisoformat(renewed["tokenExpiresAt"]) > expiry
    until(lambda: datetime.now(UTC), lambda now: now > expiry)
    alice.client.http("POST", f"/rooms/{room}/messages", {"message": "after the first token"})

    bob.wait_for("after the first token")
    assert bob.request("sendMessage", room, message="me too")["type"] == "ack"
    assert bob.request("history", room)["type"] == "history"


async def test_the_client_follows_a_key_over_a_lost_connection_and_gets_each_event_once(platform: RunningStage) -> None:
    """P13."""
    gate, door = Client(platform, None, "events:write", "analytics:read"), unique("door")

    def post() -> str:
        status, body, _ = gate.http("POST", "/streams/doors/events", {"door": door, "badge": "ann"})
        assert status == 202
        return str(body["results"][0]["eventId"])

    async def followed(events: StreamFollower, number: int) -> list[str]:
        found: list[str] = []
        async for event in events:
            assert event is not None
            found.append(event["eventId"])
            if len(found) == number:
                break
        return found

    async with StreamFollower(platform.where["websocket_url"], gate.token, "doors", door) as events:
        first = await asyncio.to_thread(post)
        assert await followed(events, 1) == [first]
        await events.connection.reconnect()
        more = [await asyncio.to_thread(post) for _ in range(3)]

        assert sorted(await followed(events, 3)) == sorted(more)
    with pytest.raises(Refused, match="no such stream"):
        async with StreamFollower(platform.where["websocket_url"], gate.token, "roofs", door) as events:
            await followed(events, 1)
