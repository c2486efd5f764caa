"""Conversations and read marks on a whole stage."""

from __future__ import annotations

from typing import Any

from tests.e2e.clients import Client, message, now, unique, until


def ok(client: Client, method: str, path: str, body: Any = None) -> Any:
    status, answer, _ = client.http(method, path, body)
    assert status in (200, 202), answer
    return answer


def listed(client: Client) -> dict[str, Any]:
    return {item["roomId"]: item for item in ok(client, "GET", f"/users/{client.user}/rooms")["items"]}


def say(client: Client, room: str, *texts: str) -> None:
    ok(client, "POST", "/messages/batch", {"events": [message(room, text) for text in texts]})


def shared_room(alice: Client, bob: Client) -> str:
    """A members room that bob owns, with alice as a member."""
    room = unique("room")
    ok(bob, "PUT", f"/rooms/{room}", {"kind": "members"})
    for client in (bob, alice):  # invites, accepts
        ok(client, "PUT", f"/rooms/{room}/members/{alice.user}", {})
    return room


def test_a_message_is_unread_until_marked_and_moves_its_room_to_the_top(alice: Client, bob: Client) -> None:
    first, second = (shared_room(alice, bob) for _ in range(2))
    say(bob, second, "one")
    until(lambda: listed(alice)[second], lambda item: item["unread"] == 1)
    say(bob, first, "two", "three")
    say(alice, first, "mine")

    found = until(lambda: listed(alice), lambda items: items[first]["unread"] == 2 and items[first]["lastMessage"])

    last = until(lambda: listed(alice)[first]["lastMessage"], lambda item: item["message"] == "mine")
    assert (found[first]["kind"], found[first]["form"], found[first]["membership"]["state"]) == (
        "members",
        "group",
        "in",
    )
    read = ok(alice, "PUT", f"/rooms/{first}/read", {"upTo": last["key"]})
    assert read == {"roomId": first, "readTo": last["key"]}
    assert ok(alice, "PUT", f"/rooms/{first}/read", {"upTo": now(seconds=-60)}) == read, "forward only"
    assert (listed(alice)[first]["unread"], listed(alice)[second]["unread"]) == (0, 1)
