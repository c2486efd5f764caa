"""Edits and deletions on a whole stage: pages, live frames, positions and conversations say the same thing."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from tests.e2e.clients import Client, now, unique, until
from tests.e2e.test_live import Subscriber
from tests.e2e.test_rooms import MEMBERS, bring, ok, send


def path(item: dict[str, Any], more: str = "") -> str:
    return f"/rooms/{item['roomId']}/messages/{quote(item['key'], safe='')}{more}"


def posted(client: Client, room: str, text: str, **more: Any) -> dict[str, Any]:
    """A message that ``client`` sent, as it is in the history."""
    assert send(client, room, message=text, **more)[0] == 202
    found = until(lambda: client.wait_for(room, 1), lambda items: [each for each in items if each["message"] == text])
    item: dict[str, Any] = next(each for each in found if each["message"] == text)
    return item


def shown(client: Client, item: dict[str, Any], name: str) -> dict[str, Any]:
    """The message in its room's history, once it has the field ``name``."""

    def found() -> dict[str, Any]:
        (only,) = [each for each in client.room(item["roomId"]) if each["key"] == item["key"]]
        return only

    changed: dict[str, Any] = until(found, lambda each: name in each)
    return changed


def test_an_edit_is_seen_in_pages_live_frames_and_after_a_position(alice: Client, bob: Client) -> None:
    room = unique("room")
    item = posted(alice, room, "helo")
    follower = Subscriber(bob.stage, bob.user)
    position = follower.request("subscribe", room)["position"]

    status, accepted, _ = alice.http("PATCH", path(item), {"message": "hello"})

    assert (status, accepted["key"], accepted["lane"]) == (202, item["key"], "main")
    changed = shown(bob, item, "editedAt")
    assert changed == {**item, "message": "hello", "editedAt": accepted["timestamp"]}
    assert follower.wait_for("hello")["hello"] == changed
    page = ok(bob, "GET", f"/rooms/{room}/messages?since={position}")
    assert changed in page["items"]
    assert bob.http("GET", f"/users/{alice.user}/messages")[1]["items"] == [changed]
    assert ok(alice, "GET", path(item, "/versions"))["items"] == [
        {"message": "helo", "timestamp": item["timestamp"]},
        {"message": "hello", "timestamp": accepted["timestamp"]},
    ]
    assert bob.http("GET", path(item, "/versions"))[0] == bob.http("PATCH", path(item), {"message": "x"})[0] == 403


def test_a_deleted_message_stays_as_a_stub_without_text(alice: Client, bob: Client) -> None:
    room = unique("room")
    ok(alice, "PUT", f"/rooms/{room}", MEMBERS)
    bring(alice, room, bob)
    item = posted(bob, room, "secret")
    alice.http("PUT", f"/rooms/{room}/read", {"upTo": now(hours=-1)})

    status, accepted, _ = alice.http("DELETE", path(item))

    assert status == 202
    stub = {**item, "message": "", "deletedAt": accepted["timestamp"], "deletedBy": alice.user}
    assert shown(bob, item, "deletedAt") == stub
    (listed,) = ok(alice, "GET", f"/users/{alice.user}/rooms")["items"]
    assert (listed["lastMessage"], listed["unread"]) == (stub, 0)
    assert ok(bob, "GET", path(item, "/versions"))["items"] == []
    assert bob.http("PATCH", path(item), {"message": "back"})[0] == 409
