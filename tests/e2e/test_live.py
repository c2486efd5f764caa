"""Live messages on a whole stage: from one user's frame to another's, also after a cut connection."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any

import boto3
from boto3.dynamodb.conditions import Key

from headrace_client import Patience, Rooms
from localstage.template.attributes import ACCOUNT
from tests.e2e.clients import PATIENCE, Client, message, unique, until
from tests.e2e.conftest import RunningStage
from tests.e2e.test_lifecycle import status

HASTE = Patience(first_pause=0.05, longest_pause=0.5)


def connections_table(stage: RunningStage) -> Any:
    """The stage's own table, from behind."""
    urls = {row["name"].split()[0]: row["url"] for row in status(stage)["services"]}
    dynamodb = boto3.resource(
        "dynamodb",
        endpoint_url=urls["DynamoDB"],
        region_name="us-east-1",
        aws_access_key_id=ACCOUNT,
        aws_secret_access_key="local",
    )
    (name,) = [each.name for each in dynamodb.tables.all() if each.name.endswith("ConnectionsTable")]
    return dynamodb.Table(name)


class Subscriber:
    """A user with a WebSocket."""

    def __init__(self, stage: RunningStage, user: str | None = None, *, ttl: int = 3600) -> None:
        self.client = Client(stage, user, ttl=ttl)
        self.user = self.client.user
        self.socket = self.client.connect()

    def ask(self, action: str, room: str, **more: Any) -> dict[str, Any]:
        """The answer to a frame; what is pushed meanwhile is passed over."""
        return self.socket.request({"action": action, "requestId": unique("r"), "roomId": room, **more})

    def hear(self, *texts: str) -> dict[str, dict[str, Any]]:
        """What is pushed until all of ``texts`` were, by text."""
        found: dict[str, dict[str, Any]] = {}
        while not found.keys() >= set(texts):
            frame = self.socket.receive()
            assert frame["type"] == "messages", frame
            found |= {item["message"]: item for item in frame["items"]}
        return found


def test_what_one_says_the_other_hears_as_history_shows_it(platform: RunningStage) -> None:
    alice, bob, room = Subscriber(platform), Subscriber(platform), unique("room")
    alice.client.http("POST", f"/rooms/{room}/messages", {"message": "before"})
    (before,) = alice.client.wait_for(room, 1)

    answer = bob.ask("subscribe", room)
    assert alice.ask("sendMessage", room, message="grüße, 世界")["type"] == "ack"
    alice.client.http("POST", "/messages/batch", {"events": [message(room, "two"), message(unique("room"), "other")]})
    heard = bob.hear("grüße, 世界", "two")

    assert (answer["type"], answer["newest"]) == ("subscribed", before["key"])
    assert "other" not in heard
    shown = {item["message"]: item for item in alice.client.wait_for(room, 3)}
    assert all(shown[text] == item for text, item in heard.items())


def test_a_connection_whose_token_is_renewed_hears_on(platform: RunningStage) -> None:
    alice, room = Subscriber(platform), unique("room")
    bob = Subscriber(platform, ttl=8)

    def authenticate(token: str) -> dict[str, Any]:
        return bob.socket.request({"action": "authenticate", "requestId": unique("r"), "token": token})

    expiry = datetime.fromisoformat(bob.ask("subscribe", room)["tokenExpiresAt"])
    assert authenticate(alice.client.token)["error"]["code"] == "forbidden"
    assert authenticate("x.y.z")["error"]["code"] == "unauthorized"
    renewed = authenticate(Client(platform, bob.user).token)
    assert datetime.fromisoformat(renewed["tokenExpiresAt"]) > expiry
    until(lambda: datetime.now(UTC), lambda now: now > expiry)
    alice.client.http("POST", f"/rooms/{room}/messages", {"message": "after the first token"})

    bob.hear("after the first token")
    assert bob.ask("sendMessage", room, message="me too")["type"] == "ack"
    assert bob.ask("history", room)["type"] == "history"


def test_an_expired_connection_is_renewed_too(platform: RunningStage) -> None:
    bob = Subscriber(platform, ttl=3)

    def ping() -> dict[str, Any]:
        return bob.socket.request({"action": "ping", "requestId": unique("r")})

    until(ping, lambda answer: answer["type"] == "error" and answer["error"]["code"] == "token_expired")
    token = Client(platform, bob.user).token
    bob.socket.request({"action": "authenticate", "requestId": unique("r"), "token": token})

    assert ping()["type"] == "pong"


def test_history_comes_over_the_connection_too(platform: RunningStage) -> None:
    alice, room = Subscriber(platform), unique("room")
    alice.client.http("POST", "/messages/batch", {"events": [message(room, f"n{n}") for n in range(3)]})
    alice.client.wait_for(room, 3)

    first = alice.ask("history", room, limit=2)
    second = alice.ask("history", room, limit=2, before=first["next"])

    assert (first["hasMore"], second["hasMore"]) == (True, False)
    assert [item["message"] for item in first["items"] + second["items"]] == ["n2", "n1", "n0"]


def test_p12_a_member_hears_while_they_are_one_and_nobody_else_hears_anything(platform: RunningStage) -> None:
    alice, bob, mallory = (Subscriber(platform) for _ in range(3))
    room = unique("room")
    assert alice.client.http("PUT", f"/rooms/{room}", {"kind": "members"})[0] == 200
    assert mallory.ask("subscribe", room)["error"]["code"] == "forbidden"
    assert bob.ask("history", room)["error"]["code"] == "forbidden"
    alice.client.http("PUT", f"/rooms/{room}/members/{bob.user}")
    for one in (alice, bob):
        assert one.ask("subscribe", room)["type"] == "subscribed"

    alice.client.http("POST", f"/rooms/{room}/messages", {"message": "for both"})
    bob.hear("for both")
    assert alice.client.http("DELETE", f"/rooms/{room}/members/{bob.user}")[0] == 200
    alice.client.http("POST", f"/rooms/{room}/messages", {"message": "not for bob"})
    alice.hear("not for bob")

    # What is pushed to a connection comes before the answer to what it asks for later.
    bob.socket.send('{"action": "ping", "requestId": "p"}')
    frames = [bob.socket.receive()]
    while frames[-1]["type"] != "pong":
        frames.append(bob.socket.receive())
    assert not [item for frame in frames for item in frame.get("items", []) if item["message"] == "not for bob"]
    assert bob.ask("subscribe", room)["error"]["code"] == "forbidden"


def test_clients_that_were_killed_hold_up_nobody(platform: RunningStage) -> None:
    alice, room = Subscriber(platform), unique("room")
    killed = [Subscriber(platform) for _ in range(3)]
    for one in (alice, *killed):
        one.ask("subscribe", room)
    for one in killed:
        one.socket.close()

    for number in range(5):
        alice.client.http("POST", f"/rooms/{room}/messages", {"message": f"n{number}"})
        assert f"n{number}" in alice.hear(f"n{number}")


def test_a_connection_found_gone_by_a_push_is_deleted(platform: RunningStage) -> None:
    """Fault 16: the row that goes is the stale one's."""
    alice, room = Subscriber(platform), unique("room")
    alice.ask("subscribe", room)
    table = connections_table(platform)
    living = table.query(KeyConditionExpression=Key("roomId").eq(room))["Items"]
    table.put_item(Item={**living[0], "connectionId": "AAAAAAAAAAAAAAA="})

    alice.client.http("POST", f"/rooms/{room}/messages", {"message": "hello"})
    alice.hear("hello")

    until(
        lambda: table.query(KeyConditionExpression=Key("roomId").eq(room), ConsistentRead=True)["Items"],
        lambda rows: rows == living,
    )


def test_bad_frames_about_rooms_are_answered_and_break_nothing(platform: RunningStage) -> None:
    alice, room = Subscriber(platform), unique("room")

    for frame in ({"roomId": "a#b"}, {"roomId": 7}, {}):
        for action in ("subscribe", "unsubscribe", "history"):
            answer = alice.socket.request({"action": action, "requestId": "r", **frame})
            assert answer["error"]["code"] == "invalid_request", answer
    for more in ({"limit": 0}, {"limit": -1}, {"limit": 10_000}, {"before": "x"}, {"before": "a", "after": "b"}):
        assert alice.ask("history", room, **more)["error"]["code"] in ("invalid_request", "invalid_cursor")
    assert alice.ask("subscribe", room)["type"] == "subscribed"


async def test_the_client_that_was_cut_off_has_every_message_once_in_the_end(platform: RunningStage) -> None:
    alice, room = Client(platform), unique("room")
    bob = Client(platform)
    url = platform.where["websocket_url"]
    heard: list[str] = []

    async def listen(rooms: Rooms) -> None:
        async for item in rooms:
            heard.append(item["message"])

    def say(*texts: str) -> None:
        answer = alice.http("POST", "/messages/batch", {"events": [message(room, text) for text in texts]})
        assert answer[0] == 202

    async with Rooms(url, lambda: bob.token, patience=HASTE) as rooms:
        await rooms.follow(room)
        listening = asyncio.create_task(listen(rooms))
        await asyncio.to_thread(say, "one", "two")
        await asyncio.to_thread(until, lambda: len(heard), lambda count: count == 2, PATIENCE)
        await rooms.connection.drop()
        await asyncio.to_thread(say, "three", "four")
        await asyncio.to_thread(alice.wait_for, room, 4)
        await asyncio.to_thread(until, lambda: len(heard), lambda count: count == 4, PATIENCE)
        await asyncio.to_thread(say, "five")
        await asyncio.to_thread(until, lambda: len(heard), lambda count: count == 5, PATIENCE)
        listening.cancel()

    assert sorted(heard) == sorted(["one", "two", "three", "four", "five"])
    assert rooms.connection.opens > 1
