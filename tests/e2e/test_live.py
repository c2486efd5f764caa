"""Live messages on a whole stage reach subscribers, also after a lost connection."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest

from headrace_client import Refused, StreamFollower
from tests.e2e.clients import Client, message, unique, until
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

    def wait_for(self, *texts: str) -> dict[str, dict[str, Any]]:
        """Receive until all of ``texts`` were pushed; the pushed items by text."""
        found: dict[str, dict[str, Any]] = {}
        while not found.keys() >= set(texts):
            frame = self.socket.receive()
            assert frame["type"] == "messages", frame
            found |= {item["message"]: item for item in frame["items"]}
        return found


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
