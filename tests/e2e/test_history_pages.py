"""Pages of history on a whole stage: limited to the reader's membership intervals, from any position."""

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


def say(client: Client, room: str, text: str) -> None:
    """Send without a time, so that the server's time lies between joins and leaves."""
    status, body, _ = client.http("POST", f"/rooms/{room}/messages", {"message": text})
    assert status == 202, body


def test_p12_a_member_pages_through_exactly_their_intervals(alice: Client, bob: Client) -> None:
    room = unique("room")
    assert alice.http("PUT", f"/rooms/{room}", {"kind": "members"})[0] == 200
    say(alice, room, "before bob")
    for interval in (1, 2):
        for client in (alice, bob):  # invites, accepts
            assert client.http("PUT", f"/rooms/{room}/members/{bob.user}")[0] == 200
        for n in range(3):
            say(alice, room, f"interval {interval}.{n}")
        assert alice.http("DELETE", f"/rooms/{room}/members/{bob.user}")[0] == 200
        say(alice, room, f"after interval {interval}")
    until(lambda: texts(page(alice, room, limit="200")["items"]), lambda found: len(found) == 9)

    whole = page(bob, room)
    walked, cursor = [], None
    while True:
        part = page(bob, room, limit="2", **({"before": cursor} if cursor else {}))
        walked += part["items"]
        cursor = part["next"]
        if not part["hasMore"]:
            break
    forth = page(bob, room, limit="200", after=walked[-1]["key"])
    gap = next(item for item in alice.room(room) if item["message"] == "after interval 1")
    beside = page(bob, room, limit="2", around=gap["key"])

    expected = [f"interval {interval}.{n}" for interval in (2, 1) for n in (2, 1, 0)]
    assert texts(whole["items"]) == expected
    assert walked == whole["items"]
    assert forth["items"] == walked[:-1]
    assert all(item["key"] != gap["key"] for item in beside["items"])
    assert len(beside["items"]) == 2


def test_p12_messages_of_another_user_are_listed_only_from_readable_rooms(alice: Client, bob: Client) -> None:
    hall, club = unique("hall"), unique("club")
    assert alice.http("PUT", f"/rooms/{club}", {"kind": "members"})[0] == 200
    say(alice, club, "a secret")
    say(alice, hall, "for all")

    def messages_of(reader: Client) -> list[str]:
        return texts(reader.http("GET", f"/users/{alice.user}/messages")[1]["items"])

    assert until(lambda: messages_of(alice), lambda found: len(found) == 2) == ["for all", "a secret"]
    assert messages_of(bob) == ["for all"]
    assert bob.http("GET", f"/rooms/{club}/messages")[0] == 403


def test_p10_the_newest_page_shows_each_stored_message(alice: Client) -> None:
    room = unique("room")
    for n in range(5):
        say(alice, room, f"n{n}")
        found = until(lambda: texts(page(alice, room)["items"]), lambda found, n=n: f"n{n}" in found, patience=10)
        assert found == [f"n{m}" for m in range(n, -1, -1)]
    whole = page(alice, room)

    assert page(alice, room, limit="2")["items"] == whole["items"][:2]
    assert whole["items"] == page(alice, room, limit="200")["items"]


def test_a_page_may_start_at_a_messages_key_or_at_its_time_and_id(alice: Client) -> None:
    room = unique("кафе")
    events = [message(room, f"n{n}", messageId=f"id {n} é") for n in range(5)]
    assert alice.http("POST", "/messages/batch", {"events": events})[0] == 202
    items = alice.wait_for(room, 5)[::-1]
    time_and_id = f"{items[2]['timestamp']}#{items[2]['messageId']}"

    for place in (items[2]["key"], time_and_id):
        assert texts(page(alice, room, before=place)["items"]) == ["n1", "n0"]
        assert texts(page(alice, room, after=place)["items"]) == ["n4", "n3"]
        assert texts(page(alice, room, around=place, limit="3")["items"]) == ["n3", "n2", "n1"]


def test_p12_a_cursor_is_valid_only_for_its_caller_and_query(alice: Client, bob: Client) -> None:
    room = unique("room")
    alice.http("POST", "/messages/batch", {"events": [message(room) for _ in range(3)]})
    alice.wait_for(room, 3)
    cursor = page(alice, room, limit="1")["next"]

    for client, path, query in (
        (alice, f"/rooms/{unique('other')}/messages", {"around": cursor}),
        (alice, f"/rooms/{room}/messages", {"after": cursor}),
        (alice, f"/rooms/{room}/messages", {"before": cursor, "from": "2020-01-01T00:00:00Z"}),
        (alice, f"/users/{alice.user}/messages", {"before": cursor}),
        (bob, f"/rooms/{room}/messages", {"before": cursor}),
        (bob, f"/rooms/{room}/messages", {"around": cursor}),
    ):
        status, body, _ = client.http("GET", path, **query)
        assert (status, body["error"]["code"]) == (400, "invalid_cursor")
        assert body["error"]["details"][0]["field"] in query


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
