"""Edits and deletions on a whole stage: pages, live frames, positions and conversations say the same thing."""

from __future__ import annotations

import asyncio
from typing import Any
from urllib.parse import quote

from headrace_client import Rooms
from tests.e2e.clients import PATIENCE, Client, now, unique, until
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


def test_a_message_that_is_sent_again_keeps_its_changes(alice: Client) -> None:
    room, sent = unique("room"), {"messageId": unique("m"), "timestamp": now(seconds=-60)}
    item = posted(alice, room, "helo", **sent)
    alice.http("PATCH", path(item), {"message": "hello"})
    changed = shown(alice, item, "editedAt")

    assert send(alice, room, message="helo", **sent)[0] == 202
    last = posted(alice, room, "last")

    assert alice.room(room) == [last, changed]


def test_frames_edit_and_delete_too(alice: Client) -> None:
    room = unique("room")
    item = posted(alice, room, "helo")
    user = Subscriber(alice.stage, alice.user)

    edited = user.request("editMessage", room, key=item["key"], message="hello", changeId="c-1")
    assert (edited["type"], edited["changeId"]) == ("edited", "c-1")
    shown(alice, item, "editedAt")
    deleted = user.request("deleteMessage", room, key=item["key"])
    assert deleted["type"] == "deleted"
    shown(alice, item, "deletedAt")


def test_wrong_changes_are_refused_by_name(alice: Client, bob: Client) -> None:
    room = unique("room")
    item = posted(alice, room, "hello")
    gone = {**item, "key": f"{now(days=-3)}#nothing#fpmansl7byak"}
    for client, status, method, where, body in (
        (alice, 400, "PATCH", path({**item, "key": "no key"}), {"message": "x"}),
        (alice, 400, "PATCH", path(item), {}),
        (alice, 400, "PATCH", path(item), {"message": "x" * 5000}),
        (alice, 400, "PATCH", path(item), {"message": "x", "userId": bob.user}),
        (alice, 400, "DELETE", path(item), {"message": "x"}),
        (alice, 404, "DELETE", path(gone), None),
        (alice, 404, "DELETE", path({**item, "roomId": unique("nothing")}), None),
        (bob, 403, "DELETE", path(item), None),
    ):
        got, answer, _ = client.http(method, where, body)
        assert got == status, (method, where, body, answer)


async def test_a_client_that_follows_a_room_gets_a_message_again_when_it_changes(alice: Client) -> None:
    room = unique("room")
    item = posted(alice, room, "helo")
    where = alice.stage.where
    async with Rooms(where["websocket_url"], lambda: alice.token) as rooms:
        await rooms.follow(room)
        alice.http("PATCH", path(item), {"message": "hello"})
        changed = await asyncio.wait_for(anext(aiter(rooms)), PATIENCE)
        alice.http("DELETE", path(item))
        gone = await asyncio.wait_for(anext(aiter(rooms)), PATIENCE)

    assert (changed["key"], changed["message"]) == (item["key"], "hello")
    assert (gone["key"], gone["message"], gone["deletedBy"]) == (item["key"], "", alice.user)
