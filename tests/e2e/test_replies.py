"""Replies on a whole stage: pages and live frames say what a message answers."""

from __future__ import annotations

from headrace_client import Headrace
from tests.e2e.clients import Client, unique, until
from tests.e2e.test_changes import path, posted, shown
from tests.e2e.test_live import Subscriber
from tests.e2e.test_rooms import ok


def test_the_replies_to_a_message_are_listed_with_their_edits(alice: Client, bob: Client) -> None:
    room = unique("room")
    first = posted(alice, room, "who brings plates?")
    follower = Subscriber(bob.stage, bob.user)
    follower.request("subscribe", room)
    with Headrace(bob.stage.where["http_url"], lambda: bob.token) as client:
        client.send([{"roomId": room, "message": f"reply {number}", "replyTo": first["key"]} for number in range(3)])

        assert follower.wait_for("reply 2")["reply 2"]["replyTo"] == first["key"]
        replies = until(
            lambda: list(client.items(client.list_replies, room, first["key"], limit=2)), lambda f: len(f) > 2
        )
    assert [each["message"] for each in replies] == ["reply 0", "reply 1", "reply 2"]
    assert bob.http("PATCH", path(replies[1]), {"message": "edited"})[0] == 202
    edited = shown(alice, replies[1], "editedAt")
    listed = until(lambda: ok(alice, "GET", path(first, "/replies"))["items"], lambda found: edited in found)
    assert [each["message"] for each in listed] == ["reply 0", "edited", "reply 2"]
    assert ok(alice, "GET", path(replies[0], "/replies")) == {"items": [], "next": None, "hasMore": False}
