"""A room with shards on a whole stage."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from tests.e2e.clients import Client, message, unique, until


def page(client: Client, room: str, **query: str) -> Any:
    status, body, _ = client.http("GET", f"/rooms/{room}/messages", **query)
    assert status == 200, body
    return body


def texts(items: list[dict[str, Any]]) -> list[str]:
    return [item["message"] for item in items if item["messageType"] == "TEXT"]


def test_a_room_with_shards_is_sent_to_read_followed_and_counted_as_others(alice: Client, bob: Client) -> None:
    room = f"{unique('stadium')}~8"
    status, refused, _ = alice.http("POST", f"/rooms/{room}/messages", {"message": "too early"})
    assert (status, refused["error"]["details"][0]["field"]) == (404, "roomId")
    assert alice.http("PUT", f"/rooms/{room}", {"kind": "members"})[0] == 200
    for client in (alice, bob):  # invites, accepts
        assert client.http("PUT", f"/rooms/{room}/members/{bob.user}")[0] == 200
    socket = bob.connect()
    assert socket.request({"action": "subscribe", "requestId": "r", "roomId": room})["type"] == "subscribed"
    position = page(bob, room)["position"]
    events = [message(room, f"m-{number}") for number in range(40)]

    status, body, _ = alice.http("POST", "/messages/batch", {"events": events})

    assert status == 202, body
    whole = until(lambda: page(bob, room, limit="200")["items"], lambda found: len(texts(found)) == 40)
    walked, cursor = [], None
    while cursor is not None or not walked:
        part = page(bob, room, limit="7", **({"before": cursor} if cursor else {}))
        walked += part["items"]
        cursor = part["next"]
    assert walked == whole
    assert {item["key"] for item in page(bob, room, since=position, limit="200")["items"]} >= {
        item["key"] for item in whole if item["messageType"] == "TEXT"
    }
    pushed: list[str] = []
    while len(pushed) < 40:
        pushed += texts(socket.receive().get("items", []))
    assert sorted(pushed) == sorted(texts(whole))
    key = next(item["key"] for item in whole if item["message"] == "m-7")
    assert alice.http("PATCH", f"/rooms/{room}/messages/{quote(key, safe='')}", {"message": "new"})[0] == 202
    until(lambda: texts(page(bob, room, around=key, limit="1")["items"]), lambda found: found == ["new"])
    listed = bob.http("GET", f"/users/{bob.user}/rooms")[1]["items"]
    assert [each["unread"] for each in listed if each["roomId"] == room] == [40]
