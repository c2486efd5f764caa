"""The channel of a user on a whole stage: what it tells, and what a client has after its connections were cut."""

from __future__ import annotations

import asyncio
from typing import Any

from headrace_client import ConnectionSettings, Rooms
from tests.e2e.clients import Client, now, unique, until
from tests.e2e.conftest import RunningStage

FAST = ConnectionSettings(first_pause=0.05, longest_pause=0.5)


def test_a_user_receives_invitations_memberships_names_and_read_marks(platform: RunningStage) -> None:
    alice, bob, room = Client(platform), Client(platform), unique("room")
    assert alice.http("PUT", f"/rooms/{room}", {"kind": "members"})[0] == 200
    socket, other = bob.connect(), Client(platform).connect()
    refused = other.request({"action": "subscribe", "requestId": "r", "userId": bob.user})
    assert refused["error"]["code"] == "forbidden"
    position = socket.request({"action": "subscribe", "requestId": "r", "userId": bob.user})["position"]
    steps: list[tuple[Client, str, str, Any, str]] = [
        (alice, "PUT", f"/rooms/{room}/members/{bob.user}", None, "invitation"),
        (bob, "PUT", f"/rooms/{room}/members/{bob.user}", None, "membership"),
        (alice, "PATCH", f"/rooms/{room}", {"name": "Kitchen"}, "room"),
        (bob, "PUT", f"/rooms/{room}/read", {"upTo": now()}, "readMark"),
        (alice, "DELETE", f"/rooms/{room}/members/{bob.user}", None, "membership"),
    ]

    received: list[dict[str, Any]] = []
    for user, method, path, body, changed in steps:
        answer = user.http(method, path, body)
        assert answer[0] == 200, answer
        frame = socket.receive()
        assert [(each["changed"], each["roomId"]) for each in frame["items"]] == [(changed, room)]
        received += frame["items"]

    assert bob.http("GET", f"/rooms/{room}")[1]["membership"]["state"] == "left"
    again = socket.request({"action": "resume", "requestId": "r", "users": {bob.user: position}})
    assert again["users"][bob.user] | {"position": ""} == {
        "items": received,
        "missed": False,
        "hasMore": False,
        "position": "",
    }
    asks = {"action": "check", "requestId": "r", "subscribe": False}
    for at, has_new in ((position, True), (again["users"][bob.user]["position"], False)):
        answer = socket.request({**asks, "users": {bob.user: at}})
        assert answer["users"][bob.user]["hasNew"] is has_new


async def test_users_whose_connections_are_cut_miss_no_change(platform: RunningStage) -> None:
    alice = Client(platform, None, "events:write")
    users = [Client(platform) for _ in range(10)]
    known: dict[str, set[str]] = {user.user: set() for user in users}
    added: dict[str, set[str]] = {user.user: set() for user in users}
    clients: list[Rooms] = []

    async def http(user: Client, *request: Any) -> Any:
        status, body, _ = await asyncio.to_thread(user.http, *request)
        assert status == 200, body
        return body

    async def follow(user: Client) -> None:
        rooms = Rooms(platform.where["websocket_url"], lambda: user.token, settings=FAST)
        clients.append(await rooms.__aenter__())

        def changed(change: dict[str, Any] | None) -> None:
            if change is not None:
                known[user.user].add(change["roomId"])

        await rooms.follow_user(user.user, changed)

    await asyncio.gather(*map(follow, users))
    for number in range(3):
        room = unique("room")
        await http(alice, "PUT", f"/rooms/{room}", {"kind": "members"})
        for at, user in enumerate(users):
            if (at + number) % 2:
                await clients[at].connection.reconnect()
            await http(alice, "PUT", f"/rooms/{room}/members/{user.user}", {})
            added[user.user].add(room)

    await asyncio.to_thread(until, lambda: known, lambda found: found == added)
    for each in clients:
        await each.__aexit__(None, None, None)


async def test_a_client_asks_for_rooms_that_it_does_not_follow(platform: RunningStage) -> None:
    alice, room = Client(platform), unique("room")

    async def say(count: int) -> str:
        """Send a message, and wait until there are so many; the position."""
        await asyncio.to_thread(alice.http, "POST", f"/rooms/{room}/messages", {"message": "hello"})
        await asyncio.to_thread(alice.wait_for, room, count)
        return str((await asyncio.to_thread(alice.http, "GET", f"/rooms/{room}/messages?limit=30"))[1]["position"])

    async with Rooms(platform.where["websocket_url"], lambda: alice.token, settings=FAST) as rooms:
        await rooms.connection.wait()
        position = await say(1)
        await say(2)

        assert await rooms.check({room: position, "not there": position}) == {room: True, "not there": False}
        assert rooms.rooms == {}
