"""Reactions on a whole stage: pages and positions show it, until it is taken back."""

from __future__ import annotations

from typing import Any

from tests.e2e.clients import Client, now, unique, until
from tests.e2e.test_changes import path, posted, shown
from tests.e2e.test_rooms import ok


def reactions(client: Client, item: dict[str, Any]) -> dict[str, int]:
    (found,) = [each for each in client.room(item["roomId"]) if each["key"] == item["key"]]
    shown_now: dict[str, int] = found.get("reactions", {})
    return shown_now


def test_a_reaction_is_seen_in_pages_and_after_a_position_until_it_is_taken_back(alice: Client, bob: Client) -> None:
    room = unique("room")
    item = posted(alice, room, "dinner?")
    position = ok(bob, "GET", f"/rooms/{room}/messages?since=p{0:016}")["position"]

    status, accepted, _ = bob.http(
        "PUT", path(item, "/reaction"), {"value": "👍", "changeId": "c-1", "timestamp": now()}
    )

    assert (status, accepted["changeId"], accepted["lane"]) == (202, "c-1", "main")
    changed = shown(alice, item, "reactions")
    assert changed == {**item, "reactions": {"👍": 1}, "reactionsAt": changed["reactionsAt"]}
    assert changed in ok(alice, "GET", f"/rooms/{room}/messages?since={position}")["items"]
    assert ok(alice, "GET", path(item, "/reactions"))["items"] == [
        {"userId": bob.user, "value": "👍", "timestamp": accepted["timestamp"]}
    ]
    assert bob.http("DELETE", path(item, "/reaction"))[0] == 202
    until(lambda: reactions(alice, item), lambda found: found == {})
    assert ok(alice, "GET", path(item, "/reactions"))["items"] == []
