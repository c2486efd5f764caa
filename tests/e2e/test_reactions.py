"""Reactions on a whole stage: pages, live frames, positions and both clients say the same thing."""

from __future__ import annotations

import asyncio
from typing import Any

from headrace_client import Headrace, Rooms
from tests.e2e.clients import PATIENCE, Client, now, unique, until
from tests.e2e.test_changes import path, posted, shown
from tests.e2e.test_live import Subscriber
from tests.e2e.test_rooms import MEMBERS, bring, ok


def reactions(client: Client, item: dict[str, Any]) -> dict[str, int]:
    (found,) = [each for each in client.room(item["roomId"]) if each["key"] == item["key"]]
    shown_now: dict[str, int] = found.get("reactions", {})
    return shown_now


def test_a_reaction_is_seen_in_pages_and_after_a_position_until_it_is_taken_back(alice: Client, bob: Client) -> None:
    room = unique("room")
    item = posted(alice, room, "dinner?")
    position = ok(bob, "GET", f"/rooms/{room}/messages?since=p{0:016}")["position"]

    status, accepted, _ = bob.http("PUT", path(item, "/reaction"), {"value": "👍", "changeId": "c-1"})

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


async def test_clients_and_frames_react_and_followers_get_the_message_again(alice: Client, bob: Client) -> None:
    room = unique("room")
    item = posted(alice, room, "dinner?")
    where = alice.stage.where
    user = Subscriber(bob.stage, bob.user)
    with Headrace(where["http_url"], lambda: alice.token) as headrace:
        async with Rooms(where["websocket_url"], lambda: alice.token) as rooms:
            await rooms.follow(room)
            await asyncio.to_thread(headrace.react_to_message, room, item["key"], {"value": "🎉"})
            first = await asyncio.wait_for(anext(aiter(rooms)), PATIENCE)
            assert user.request("react", room, key=item["key"], value="🎉")["type"] == "reacted"
            second = await asyncio.wait_for(anext(aiter(rooms)), PATIENCE)
            assert user.request("unreact", room, key=item["key"])["type"] == "unreacted"
            third = await asyncio.wait_for(anext(aiter(rooms)), PATIENCE)
        listed = list(headrace.items(headrace.list_reactions, room, item["key"], limit=1))

    assert [each["reactions"] for each in (first, second, third)] == [{"🎉": 1}, {"🎉": 2}, {"🎉": 1}]
    assert {each["key"] for each in (first, second, third)} == {item["key"]}
    assert [(each["userId"], each["value"]) for each in listed] == [(alice.user, "🎉")]


def test_a_deleted_message_shows_no_reactions_and_nobody_sees_who_reacted(alice: Client, bob: Client) -> None:
    room = unique("room")
    ok(alice, "PUT", f"/rooms/{room}", MEMBERS)
    bring(alice, room, bob)
    item = posted(bob, room, "secret")
    assert alice.http("PUT", path(item, "/reaction"), {"value": "👍"})[0] == 202
    shown(bob, item, "reactions")

    assert bob.http("DELETE", path(item))[0] == 202

    stub = shown(alice, item, "deletedAt")
    assert not stub.keys() & {"reactions", "reactionsAt"}
    assert ok(alice, "GET", path(item, "/reactions"))["items"] == []
    assert alice.http("PUT", path(item, "/reaction"), {"value": "👍"})[0] == 409


def test_wrong_reactions_are_refused_by_name(alice: Client, bob: Client) -> None:
    room, closed = unique("room"), unique("room")
    item = posted(alice, room, "hello")
    ok(alice, "PUT", f"/rooms/{closed}", MEMBERS)
    hidden = posted(alice, closed, "hello")
    gone = {**item, "key": f"{now(days=-3)}#nothing#fpmansl7byak"}
    for client, status, field, method, where, body in (
        (alice, 400, "value", "PUT", path(item, "/reaction"), {}),
        (alice, 400, "value", "PUT", path(item, "/reaction"), {"value": ""}),
        (alice, 400, "value", "PUT", path(item, "/reaction"), {"value": "x" * 33}),
        (alice, 400, "value", "PUT", path(item, "/reaction"), {"value": "a\tb"}),
        (alice, 400, "value", "PUT", path(item, "/reaction"), {"value": 1}),
        (alice, 400, "values", "PUT", path(item, "/reaction"), {"value": "x", "values": []}),
        (alice, 400, "userId", "PUT", path(item, "/reaction"), {"value": "x", "userId": bob.user}),
        (alice, 400, "value", "DELETE", path(item, "/reaction"), {"value": "x"}),
        (alice, 400, "key", "PUT", path({**item, "key": "no key"}, "/reaction"), {"value": "x"}),
        (alice, 400, "limit", "GET", path(item, "/reactions?limit=0"), None),
        (alice, 404, "key", "PUT", path(gone, "/reaction"), {"value": "x"}),
        (alice, 404, "key", "GET", path(gone, "/reactions"), None),
        (alice, 404, "roomId", "PUT", path({**item, "roomId": unique("nothing")}, "/reaction"), {"value": "x"}),
        (bob, 403, "roomId", "PUT", path(hidden, "/reaction"), {"value": "x"}),
        (bob, 403, "roomId", "GET", path(hidden, "/reactions"), None),
    ):
        got, answer, _ = client.http(method, where, body)
        assert (got, [each["field"] for each in answer["error"]["details"]]) == (status, [field]), (body, answer)
