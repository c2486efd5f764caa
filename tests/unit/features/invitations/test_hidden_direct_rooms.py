"""A third user cannot see whether two users have a direct room: every id of one is answered in the same way."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.api.router import Api, frame_handler, http_handler
from headrace.core.keys import direct_room
from headrace.streams.chat.messages.positions import position
from tests.worlds.chat_world import SCOPES, ChatWorld
from tests.worlds.functions import routes_of
from tests.worlds.requests import http_event
from tests.worlds.senders import NOW
from tests.worlds.write_path import frame_event

EXISTING = direct_room("alice", "bob")
MISSING = direct_room("alice", "carol")

HTTP: dict[str, tuple[str, str, Any]] = {
    "shown": ("manage_rooms", "GET /rooms/{roomId}", None),
    "created": ("manage_rooms", "PUT /rooms/{roomId}", {"kind": "members", "form": "direct"}),
    "renamed": ("manage_rooms", "PATCH /rooms/{roomId}", {"name": "ours"}),
    "joined": ("manage_rooms", "PUT /rooms/{roomId}/members/mallory", None),
    "joined as owner": ("manage_rooms", "PUT /rooms/{roomId}/members/mallory", {"role": "owner"}),
    "given a user": ("manage_rooms", "PUT /rooms/{roomId}/members/puppet", None),
    "left": ("manage_rooms", "DELETE /rooms/{roomId}/members/mallory", None),
    "left for good": ("manage_rooms", "DELETE /rooms/{roomId}/members/mallory", {"forGood": True}),
    "rid of a user": ("manage_rooms", "DELETE /rooms/{roomId}/members/alice", None),
    "asked for members": ("manage_rooms", "GET /rooms/{roomId}/members", None),
    "asked who is there": ("manage_rooms", "GET /rooms/{roomId}/online", None),
    "asked for invitations": ("manage_rooms", "GET /rooms/{roomId}/invitations", None),
    "read": ("read_chat", "GET /rooms/{roomId}/messages", None),
    "marked": ("manage_rooms", "PUT /rooms/{roomId}/read", {"upTo": "2025-11-21T10:00:00Z"}),
    "written to": (
        "receive_http",
        "POST /rooms/{roomId}/messages",
        {"message": "hello", "messageId": "m", "timestamp": NOW},
    ),
}
FRAMES: dict[str, dict[str, Any]] = {"subscribe": {}, "history": {}, "check": {}, "unsubscribe": {}}


@pytest.fixture
def world() -> ChatWorld:
    world = ChatWorld()
    world.ok("alice", "PUT", "alice/direct/bob")
    world.ok("bob", "PUT", "bob/direct/alice")
    return world


def http(world: ChatWorld, what: str, room_id: str) -> tuple[int, str]:
    """Status and body of Mallory's request, without the id of the room."""
    function, key, body = HTTP[what]
    services = {"read_chat": world.chat, "receive_http": world.sending}.get(function)
    key, path = key.replace("members/mallory", "members/{userId}"), {"roomId": room_id}
    for user in ("mallory", "puppet", "alice"):
        if f"/members/{user}" in HTTP[what][1]:
            path["userId"], key = user, key.replace(f"members/{user}", "members/{userId}")
    event = http_event(key, body, user="mallory", scope=SCOPES, path=path)
    handler = (
        world.routes if services is None else http_handler(Api(routes_of(function), lambda: services, world.clock))
    )
    answer = handler(event)
    return answer["statusCode"], answer["body"].replace(room_id, "ID")


def frame(world: ChatWorld, action: str, room_id: str) -> str:
    since = position(world.clock.now())
    fields = {"rooms": {room_id: since}} if action == "check" else {"roomId": room_id}
    event = frame_event(fields, subject="mallory", scope="chat:read")
    event["requestContext"] |= {"connectionId": "c", "connectedAt": world.clock.now() // 1000, "routeKey": action}
    frames = frame_handler(Api(routes_of("read_frame"), lambda: world.subscriptions, world.clock))
    return str(frames(event)["body"]).replace(room_id, "ID")


def reads(world: ChatWorld) -> tuple[int, int]:
    return world.rooms.reads, world.memberships.reads


@pytest.mark.parametrize("what", HTTP)
def test_a_third_user_gets_one_answer_whether_a_direct_room_exists_or_not(world: ChatWorld, what: str) -> None:
    answers = [http(world, what, EXISTING), http(world, what, MISSING)]

    assert answers[0] == answers[1]
    assert answers[0][0] == {"created": 400, "left": 200, "left for good": 200}.get(what, 403)


@pytest.mark.parametrize("action", FRAMES)
def test_a_third_user_gets_one_frame_whether_a_direct_room_exists_or_not(world: ChatWorld, action: str) -> None:
    assert frame(world, action, EXISTING) == frame(world, action, MISSING)
    assert (EXISTING, "c") not in world.connections.rows
    assert (MISSING, "c") not in world.connections.rows


@pytest.mark.parametrize("what", [*HTTP, *FRAMES])
def test_both_answers_take_the_same_reads(world: ChatWorld, what: str) -> None:
    """Otherwise their times would differ. The first request of an environment may fill its cache of rooms."""
    asked = http if what in HTTP else frame
    costs = []
    for room_id in (EXISTING, MISSING, EXISTING, MISSING):
        before = reads(world)
        asked(world, what, room_id)
        costs.append(tuple(now - then for now, then in zip(reads(world), before, strict=True)))

    assert len(set(costs)) == 1


def test_its_two_users_and_who_is_invited_see_it(world: ChatWorld) -> None:
    world.ok("dave", "PUT", "dave/direct/alice")
    invited = direct_room("dave", "alice")

    assert world.ok("alice", "GET", invited)["invitation"]["invitedBy"] == "dave"
    assert world.ok("bob", "GET", EXISTING)["membership"]["state"] == "in"
    assert world.ok("alice", "PUT", f"{invited}/members/alice")["joinedAt"]
    assert world.ok("alice", "DELETE", f"{invited}/members/alice")["leftAt"]
    assert world.read_room("alice", invited) != "Forbidden"
