"""Conversations and read marks on a whole stage."""

from __future__ import annotations

from typing import Any

from tests.e2e.clients import Client, message, now, unique, until
from tests.e2e.conftest import RunningStage


def ok(client: Client, method: str, path: str, body: Any = None, **query: str) -> Any:
    status, answer, _ = client.http(method, path, body, **query)
    assert status in (200, 202), answer
    return answer


def conversations(client: Client, **query: str) -> Any:
    return ok(client, "GET", f"/users/{client.user}/rooms", **query)


def listed(client: Client) -> dict[str, Any]:
    return {item["roomId"]: item for item in conversations(client)["items"]}


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


def test_p12_a_removed_member_sees_the_last_message_of_their_interval(alice: Client, bob: Client) -> None:
    room = shared_room(alice, bob)
    say(bob, room, "for alice")
    until(lambda: listed(alice)[room]["unread"], lambda unread: unread == 1)
    ok(bob, "DELETE", f"/rooms/{room}/members/{alice.user}")
    say(bob, room, "not for alice")
    until(lambda: listed(bob)[room]["lastMessage"]["message"], lambda text: text == "not for alice")

    item = listed(alice)[room]

    assert (item["membership"]["state"], item["lastMessage"]["message"], item["unread"]) == ("left", "for alice", 1)
    # Activity is exact to the second, and excludes messages after the membership.
    assert item["activityAt"] <= item["membership"]["since"]


def test_no_number_of_strangers_rooms_is_among_a_users_own(alice: Client, bob: Client) -> None:
    """P12."""
    mallory = Client(alice.stage, unique("mallory"))
    own = shared_room(alice, bob)
    rooms = [unique("!") for _ in range(3)]
    for room in rooms:
        ok(mallory, "PUT", f"/rooms/{room}", {"kind": "members"})
        assert ok(mallory, "PUT", f"/rooms/{room}/members/{alice.user}")["joinedAt"] is None

    assert [item["roomId"] for item in conversations(alice)["items"]] == [own]
    found = ok(alice, "GET", f"/users/{alice.user}/invitations")["items"]
    assert [(item["roomId"], item["invitedBy"]) for item in found] == [(room, mallory.user) for room in sorted(rooms)]
    assert alice.http("GET", f"/rooms/{rooms[0]}/messages")[0] == 403
    ok(alice, "DELETE", f"/rooms/{rooms[0]}/members/{alice.user}")
    ok(alice, "PUT", f"/users/{alice.user}/blocked/{mallory.user}")
    assert ok(alice, "GET", f"/users/{alice.user}/invitations")["items"] == []
    assert ok(mallory, "PUT", f"/rooms/{rooms[1]}/members/{alice.user}")["invitedAt"] is not None
    assert ok(alice, "GET", f"/users/{alice.user}/invitations")["items"] == []
    assert [each["userId"] for each in ok(alice, "GET", f"/users/{alice.user}/blocked")["items"]] == [mallory.user]


def test_a_member_who_is_added_and_removed_has_no_row_of_it(alice: Client, bob: Client) -> None:
    room = shared_room(alice, bob)
    other = unique("room")
    ok(bob, "PUT", f"/rooms/{other}", {"kind": "members"})
    ok(bob, "PUT", f"/rooms/{other}/members/{alice.user}")
    ok(bob, "DELETE", f"/rooms/{other}/members/{alice.user}")
    until(lambda: bob.room(other), lambda items: len(items) == 3)

    items = until(lambda: ok(alice, "GET", f"/users/{alice.user}/messages")["items"], bool)

    assert {(item["roomId"], item["messageType"]) for item in items} == {(room, "JOIN")}
    assert {item["userId"] for item in bob.room(other)} == {bob.user}
    assert [item["memberId"] for item in bob.room(other)][:2] == [alice.user, alice.user]


def test_a_room_that_was_left_for_good_is_in_no_list(alice: Client, bob: Client) -> None:
    room = shared_room(alice, bob)

    ok(alice, "DELETE", f"/rooms/{room}/members/{alice.user}", {"forGood": True})

    assert listed(alice) == {}
    assert ok(bob, "PUT", f"/rooms/{room}/members/{alice.user}")["invitedAt"]
    assert listed(alice) == {}


def test_others_conversations_and_marks_of_non_members_are_forbidden(
    platform: RunningStage, alice: Client, bob: Client
) -> None:
    """P12."""
    room, lobby = unique("room"), unique("lobby")
    ok(bob, "PUT", f"/rooms/{room}", {"kind": "members"})
    ok(bob, "PUT", f"/rooms/{lobby}", {"kind": "open"})
    producer = Client(platform, None, "chat:read", "events:write", "ops")

    for client in (bob, producer):
        assert client.http("GET", f"/users/{alice.user}/rooms")[0] == 403
    for nowhere in (room, lobby, unique("nowhere")):
        assert alice.http("PUT", f"/rooms/{nowhere}/read", {"upTo": now()})[0] == 403
    assert listed(alice) == {}
    assert Client(platform, alice.user, "chat:write").http("GET", f"/users/{alice.user}/rooms")[0] == 403
