"""Rooms and memberships on a whole stage: each answered change is in force."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import quote

import pytest

from tests.e2e.clients import Client, message, now, unique, until
from tests.e2e.conftest import RunningStage

MEMBERS = {"kind": "members"}
IDS = ["küche-☕", "厨房", "a b+c&d=e%41", "..", "Ωmega​", "‮ltr", "😀" * 20, "null", "0", "'; --"]
IDS += ["[a]\\{b}^|%2F", "%252e%3f"]
"""Of nicks in chat logs. No part between client and function decodes them twice."""


def ok(client: Client, method: str, path: str, body: Any = None) -> Any:
    status, answer, _ = client.http(method, path, body)
    assert status == 200, answer
    return answer


def member(room: str, user: str) -> str:
    return f"/rooms/{quote(room, safe='')}/members/{quote(user, safe='')}"


def bring(owner: Client, room: str, user: Client) -> Any:
    """The user's membership after ``owner`` invited the user, who accepted."""
    ok(owner, "PUT", member(room, user.user))
    return ok(user, "PUT", member(room, user.user))


def send(client: Client, room: str, **more: Any) -> tuple[int, Any]:
    status, body, _ = client.http("POST", "/messages/batch", {"events": [message(room, **more)]})
    return status, body


def test_a_room_shows_its_name_and_only_its_owner_changes_it(alice: Client, bob: Client) -> None:
    room = unique("room")
    made = ok(alice, "PUT", f"/rooms/{room}", {**MEMBERS, "name": "Kitchen"})
    assert ok(alice, "PUT", f"/rooms/{room}", {**MEMBERS, "name": "Kitchen"}) == made
    assert bob.http("GET", f"/rooms/{room}")[0] == bob.http("PATCH", f"/rooms/{room}", {"name": "x"})[0] == 403
    bring(alice, room, bob)

    ok(alice, "PATCH", f"/rooms/{room}", {"name": None, "topic": "who cooks?"})

    shown = ok(bob, "GET", f"/rooms/{room}")
    assert {name: shown[name] for name in made} == {**made, "name": None, "topic": "who cooks?"}
    assert shown["membership"]["state"] == "in"
    (listed,) = ok(bob, "GET", f"/users/{bob.user}/rooms")["items"]
    assert (listed["name"], listed["topic"]) == (None, "who cooks?")


def test_what_does_not_exist_is_not_found(alice: Client, platform: RunningStage) -> None:
    analyst = Client(platform, unique("analyst"), "analytics:read")
    hour = {"from": now(hours=-1), "to": now()}
    for client, path, query in (
        (alice, "/rooms/{}", {}),
        (alice, "/rooms/{}/messages", {}),
        (alice, "/rooms/{}/messages", hour),
        (alice, "/rooms/{}/members", {}),
        (alice, "/users/{}/messages", {}),
        (analyst, "/ads/{}/clicks", {}),
        (analyst, "/ads/{}/stats", {**hour, "step": "3600"}),
    ):
        status, body, _ = client.http("GET", path.format(unique("nothing")), **query)
        assert (status, body["error"]["code"]) == (404, "not_found"), path
    frame = alice.connect().request({"action": "history", "roomId": unique("nothing")})
    assert frame["error"]["code"] == "not_found"
    assert alice.http("GET", f"/users/{alice.user}/messages")[1]["items"] == []


def test_both_users_open_the_same_direct_room_and_write_in_it(alice: Client, bob: Client) -> None:
    room = ok(alice, "PUT", f"/users/{alice.user}/direct/{bob.user}")["roomId"]
    assert ok(bob, "PUT", f"/users/{bob.user}/direct/{alice.user}")["roomId"] == room

    assert send(alice, room)[0] == send(bob, room)[0] == 202
    until(lambda: [each["messageType"] for each in bob.room(room)], lambda kinds: kinds.count("TEXT") == 2)
    stranger = Client(alice.stage, unique("mallory"))
    assert send(stranger, room)[0] == stranger.http("GET", f"/rooms/{room}")[0] == 403
    other = ok(stranger, "PUT", f"/users/{stranger.user}/direct/{bob.user}")["roomId"]
    assert stranger.http("PUT", f"/rooms/{other}", MEMBERS)[0] == 400


def test_a_user_may_write_from_their_join_until_their_leave(alice: Client, bob: Client) -> None:
    """P12, over both protocols."""
    room, socket = unique("room"), bob.connect()
    ok(alice, "PUT", f"/rooms/{room}", MEMBERS)

    def refused_in_both() -> None:
        status, body = send(bob, room)
        assert (status, body["error"]["code"]) == (403, "forbidden")
        frame = socket.request({"action": "sendMessage", **message(room)})
        assert (frame["type"], frame["error"]["code"]) == ("error", "forbidden")
        assert frame["error"]["details"][0]["field"] == "roomId"

    refused_in_both()
    for _ in range(3):
        bring(alice, room, bob)
        assert send(bob, room)[0] == 202
        assert socket.request({"action": "sendMessage", **message(room)})["type"] == "ack"
        ok(alice, "DELETE", member(room, bob.user))
        refused_in_both()

    items = alice.wait_for(room, 13)
    kinds = [item["messageType"] for item in items]
    assert sorted(kinds) == ["JOIN"] * 4 + ["LEAVE"] * 3 + ["TEXT"] * 6
    assert [item["messageType"] for item in reversed(items)][:2] == ["JOIN", "JOIN"]
    leaves = [item for item in items if item["messageType"] == "LEAVE"]
    assert {(item["userId"], item["memberId"]) for item in leaves} == {(alice.user, bob.user)}


def test_each_event_of_a_batch_is_accepted_or_refused_separately(alice: Client, bob: Client) -> None:
    room, hall = unique("room"), unique("hall")
    ok(alice, "PUT", f"/rooms/{room}", MEMBERS)
    socket = bob.connect()

    answer = socket.request({"action": "sendBatch", "events": [message(room), message(hall), message("a#b")]})

    codes = [result.get("error", {}).get("code", "accepted") for result in answer["results"]]
    assert codes == ["forbidden", "accepted", "invalid_event"]
    status, body, _ = bob.http("POST", "/messages/batch", {"events": [message(room), message(room)]})
    assert (status, body["error"]["code"], len(body["results"])) == (403, "forbidden", 2)


def test_the_first_message_creates_an_open_room_that_stays_open(alice: Client, bob: Client) -> None:
    room = unique("room")
    assert send(bob, room)[0] == 202

    assert alice.http("PUT", f"/rooms/{room}", MEMBERS)[0] == 409
    assert ok(alice, "PUT", f"/rooms/{room}", {"kind": "open"})["createdBy"] == bob.user
    assert ok(alice, "PUT", member(room, alice.user))["leftAt"] is None
    assert alice.http("PUT", member(room, bob.user))[0] == 403
    alice.wait_for(room, 2)


def test_an_invalid_or_forbidden_request_is_refused_with_a_message(alice: Client, bob: Client) -> None:
    room = unique("room")
    ok(alice, "PUT", f"/rooms/{room}", MEMBERS)
    yesterday = now(days=-1)

    for client, method, path, body, status in (
        (bob, "PUT", member(room, bob.user), None, 403),
        (bob, "GET", f"/rooms/{room}/members", None, 403),
        (bob, "DELETE", member(room, alice.user), None, 403),
        (bob, "PUT", member(unique("nowhere"), bob.user), None, 404),
        (bob, "PUT", f"/rooms/{room}", MEMBERS, 409),
        (alice, "PUT", member(room, alice.user), {"joinedAt": yesterday}, 403),
        (alice, "DELETE", member(room, alice.user), {"leftAt": yesterday}, 403),
        (alice, "PUT", member(room, bob.user), b"{", 400),
        (alice, "PUT", member(room, bob.user), {"role": 7}, 400),
        (alice, "PUT", member("a#b", bob.user), None, 400),
        (alice, "PUT", f"/rooms/{unique('room')}", {"kind": "open", "form": "direct"}, 400),
        (alice, "GET", f"/rooms/{room}/members?limit=0", None, 400),
        (alice, "GET", f"/rooms/{room}/members?limit=10000", None, 400),
        (alice, "GET", f"/rooms/{room}/members?after=forged", None, 400),
    ):
        found, answer, _ = client.http(method, path, body)
        assert found == status, (method, path, body, answer)
        assert answer["error"]["message"]
    assert send(alice, room, messageType="JOIN")[0] == 400
    assert [each["userId"] for each in ok(alice, "GET", f"/rooms/{room}/members")["items"]] == [alice.user]


@pytest.mark.parametrize("name", IDS)
def test_ids_of_rooms_and_users_may_use_any_script(platform: RunningStage, name: str) -> None:
    user = name if name.isprintable() else "plain"  # the stage's issuer refuses names of unprintable characters
    owner, guest = Client(platform, f"{user} {unique('o')}"), Client(platform, f"{unique('g')} {user}")
    room = f"{name} {unique('r')}"
    path = f"/rooms/{quote(room, safe='')}"

    ok(owner, "PUT", path, MEMBERS)
    bring(owner, room, guest)

    assert send(guest, room)[0] == 202
    found = {each["userId"] for each in ok(guest, "GET", f"{path}/members")["items"]}
    assert len(found) == 2
    ok(guest, "DELETE", member(room, guest.user))
    assert send(guest, room)[0] == 403


def test_concurrent_joins_and_leaves_apply_as_answered(alice: Client, platform: RunningStage) -> None:
    """P12: an answered leave ends a membership and an answered join starts one, despite concurrent changes."""
    room = unique("room")
    ok(alice, "PUT", f"/rooms/{room}", MEMBERS)
    users = [unique(f"u{number}") for number in range(6)]
    importer = Client(platform, None, "events:write")

    def joins_and_leaves(user: str) -> str:
        for _ in range(3):
            assert ok(importer, "PUT", member(room, user))["leftAt"] is None
            assert ok(importer, "DELETE", member(room, user))["leftAt"] is not None
        return str(ok(importer, "PUT", member(room, user))["joinedAt"])

    with ThreadPoolExecutor(6) as pool:
        joined = dict(zip(users, pool.map(joins_and_leaves, users), strict=True))

    page = until(lambda: ok(alice, "GET", f"/rooms/{room}/members"), lambda found: len(found["items"]) == 7)
    assert {each["userId"]: each["joinedAt"] for each in page["items"] if each["role"] == "member"} == joined
