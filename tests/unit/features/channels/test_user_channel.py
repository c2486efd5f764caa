"""The channel of a user: who may follow it, what is published to it, and what never is."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from headrace.api.rates.rate_limiter import RateLimiter
from headrace.core.times import SECOND, iso
from headrace.live.push_service import PushService
from headrace.runtime.settings import RateSettings
from headrace.streams.chat.messages.positions import position
from headrace.streams.chat.rooms.memberships import Change, membership_event
from headrace.streams.chat.rooms.routes import CHANNEL_MEMBERS
from tests.fakes.live import MemoryPusher
from tests.worlds.frame_stage import Stage
from tests.worlds.room_world import GROUP, OPEN
from tests.worlds.senders import CLOCK
from tests.worlds.whole_room_world import WholeRoomWorld

NOTHING = position(CLOCK.now())


@pytest.fixture
def stage() -> Stage:
    found = Stage(WholeRoomWorld())
    found.world.ok("alice", "PUT", "kitchen", GROUP)
    return found


def follow(stage: Stage, user: str = "bob", connection: str = "c-1") -> str:
    """Follow the user; the position."""
    answer = stage.request("subscribe", user, connection=connection, userId=user)
    assert (answer["type"], answer["userId"]) == ("subscribed", user)
    assert "roomId" not in answer
    return str(answer["position"])


def pushed(stage: Stage, connection: str = "c-1") -> list[dict[str, Any]]:
    """The frames that the connection gets now."""
    pusher = MemoryPusher()
    service = PushService(stage.connections, pusher, lambda: stage.world.clock.now() / SECOND)
    records = [{"data": base64.b64encode(each.body).decode()} for each in stage.world.live.sent]
    stage.world.live.sent.clear()
    service.push({"eventSource": "aws:rmq", "rmqMessagesByQueue": {"live.0::/": records}})
    return [json.loads(frame) for frame in pusher.sent[connection]]


def published(stage: Stage, connection: str = "c-1") -> list[tuple[str, str]]:
    """What is pushed to the connection now: what has changed, and in which room."""
    items = [item for frame in pushed(stage, connection) for item in frame["items"]]
    return [(item["changed"], item["roomId"]) for item in items]


def resumed(stage: Stage, since: str, **more: Any) -> dict[str, Any]:
    answer = stage.request("resume", "bob", users={"bob": since}, **more)
    assert answer["type"] == "resumed"
    found: dict[str, Any] = answer["users"]["bob"]
    return found


def test_a_frame_says_what_has_changed_and_follows_the_one_before(stage: Stage) -> None:
    first = follow(stage)

    stage.world.ok("alice", "PUT", "kitchen/members/bob")
    (frame,) = pushed(stage)

    (item,) = frame["items"]
    assert frame == {
        "type": "changes",
        "userId": "bob",
        "position": frame["position"],
        "follows": first.partition("-")[2],
        "items": [item],
    }
    assert frame["position"].endswith(item["key"])
    assert item | {"key": "k", "timestamp": "t"} == {
        "key": "k",
        "changed": "invitation",
        "roomId": "kitchen",
        "timestamp": "t",
    }


def test_a_user_is_told_of_their_invitations_memberships_and_roles(stage: Stage) -> None:
    follow(stage)
    steps: list[tuple[str, str, str, Any, str]] = [
        ("alice", "PUT", "kitchen/members/bob", None, "invitation"),
        ("alice", "DELETE", "kitchen/members/bob", None, "invitation"),
        ("alice", "PUT", "kitchen/members/bob", None, "invitation"),
        ("bob", "PUT", "kitchen/members/bob", None, "membership"),
        ("alice", "PUT", "kitchen/members/bob", {"role": "owner"}, "membership"),
        ("alice", "PATCH", "kitchen", {"name": "Kitchen"}, "room"),
        ("alice", "PATCH", "kitchen", {"retentionDays": 9}, "room"),
        ("bob", "PUT", "kitchen/read", {"upTo": "2025-11-21T10:00:00Z"}, "readMark"),
        ("alice", "DELETE", "kitchen/members/bob", None, "membership"),
        ("bob", "DELETE", "kitchen/members/bob", {"forGood": True}, "membership"),
    ]

    for user, method, path, body, changed in steps:
        stage.world.ok(user, method, path, body)
        stage.world.clock.advance(1)
        assert set(published(stage)) == {(changed, "kitchen")}, path


def test_a_block_ends_invitations_and_memberships_and_the_blocked_user_is_told_nothing(stage: Stage) -> None:
    for room in ("den", "lounge"):
        stage.world.ok("alice", "PUT", room, GROUP)
        stage.world.ok("alice", "PUT", f"{room}/members/bob")
    stage.world.ok("bob", "PUT", "lounge/members/bob")
    stage.world.ok("alice", "PUT", "kitchen/members/bob")
    follow(stage)
    follow(stage, "alice", "c-2")
    stage.world.live.sent.clear()

    stage.world.ok("bob", "PUT", "bob/blocked/alice")
    sent = list(stage.world.live.sent)
    assert set(published(stage)) == {("membership", "kitchen"), ("invitation", "den")}
    stage.world.live.sent.extend(sent)
    assert published(stage, "c-2") == []
    stage.world.clock.advance(1)
    stage.world.ok("alice", "PUT", "den/members/bob")
    stage.world.ok("bob", "PUT", "bob/blocked/alice")
    stage.world.ok("alice", "DELETE", "den/members/bob")
    assert published(stage) == []


def test_a_repeated_block_pushes_the_invitations_that_an_interrupted_one_left(stage: Stage) -> None:
    invitations = stage.world.invitations
    stage.world.ok("alice", "PUT", "kitchen/members/bob")
    follow(stage)
    stage.world.live.sent.clear()
    invitations.blocks_since["bob", "alice"] = iso(stage.world.clock.now())
    stage.world.clock.advance(1)

    stage.world.ok("bob", "PUT", "bob/blocked/alice")

    assert published(stage) == [("invitation", "kitchen")]


def test_an_invitation_that_did_not_count_ends_without_a_word(stage: Stage) -> None:
    """The routes do not show it either."""
    stage.world.bring("alice", "kitchen", "mallory", {"role": "owner"})
    stage.world.ok("mallory", "PUT", "kitchen/members/bob")
    stage.world.ok("alice", "DELETE", "kitchen/members/mallory")
    follow(stage)
    stage.world.live.sent.clear()

    stage.world.ok("alice", "DELETE", "kitchen/members/bob")

    assert published(stage) == []


@pytest.mark.parametrize(("members", "changes"), [(CHANNEL_MEMBERS, [("room", "hall")]), (CHANNEL_MEMBERS + 1, [])])
def test_a_name_is_told_to_the_members_of_a_room_that_is_not_large(
    stage: Stage, members: int, changes: list[tuple[str, str]]
) -> None:
    stage.world.ok("alice", "PUT", "hall", OPEN)
    at = "2025-11-21T10:00:00.000000Z"
    for number in range(members - 1):
        join = Change(user_id=f"u-{number}", room_id="hall", kind="join", event=membership_event(at, "e"))
        stage.world.memberships.add(join)
    stage.world.ok("bob", "PUT", "hall/members/bob")
    follow(stage)
    stage.world.live.sent.clear()

    stage.world.ok("alice", "PATCH", "hall", {"topic": "weather"})

    assert published(stage) == changes


def test_a_change_is_answered_also_while_it_cannot_be_told(stage: Stage) -> None:
    follow(stage)
    stage.world.live.down = True
    stage.world.ok("alice", "PUT", "kitchen/members/bob")
    stage.world.live.down = False

    stage.cache.down = True
    stage.world.ok("alice", "PUT", "kitchen/members/bob")

    (frame,) = pushed(stage)
    assert "follows" not in frame, "without the cache, a change is pushed outside the chain"


def test_a_check_subscribes_to_the_user_unless_it_only_asks(stage: Stage) -> None:
    stage.request("check", "bob", users={"bob": NOTHING}, subscribe=False)
    stage.world.ok("alice", "PUT", "kitchen/members/bob")
    assert published(stage) == []

    stage.request("check", "bob", users={"bob": NOTHING})
    stage.world.ok("alice", "PUT", "kitchen/members/bob")
    assert published(stage) == [("invitation", "kitchen")]

    assert stage.request("unsubscribe", "bob", userId="bob") | {"correlationId": ""} == {
        "type": "unsubscribed",
        "userId": "bob",
        "requestId": "r-1",
        "correlationId": "",
    }
    stage.world.ok("alice", "PUT", "kitchen/members/bob")
    assert published(stage) == []


def test_p12_a_user_follows_only_themselves(stage: Stage) -> None:
    assert stage.request("subscribe", "mallory", userId="bob")["error"]["code"] == "forbidden"
    for action in ("check", "resume"):
        answer = stage.request(action, "mallory", users={"bob": NOTHING}, rooms={"hall": NOTHING})
        assert answer["users"]["bob"]["error"]["code"] == "forbidden"
        assert "position" in answer["rooms"]["hall"]
    assert stage.request("check", "mallory", users={"bob": NOTHING}, subscribe=False)["users"]["bob"]["error"]

    stage.world.ok("alice", "PUT", "kitchen/members/bob")
    assert published(stage) == []


@pytest.mark.parametrize("named", [{}, {"roomId": "kitchen", "userId": "bob"}])
def test_a_subscription_names_a_room_or_a_user(stage: Stage, named: dict[str, str]) -> None:
    error = stage.request("subscribe", "bob", **named)["error"]

    assert error["code"] == "invalid_request"
    assert error["details"][0]["field"] == "roomId"


@pytest.mark.parametrize("named", [{}, {"rooms": {}}, {"users": {"bob": NOTHING, "alice": NOTHING}}])
def test_a_check_names_rooms_or_one_user(stage: Stage, named: dict[str, Any]) -> None:
    assert stage.request("check", "bob", **named)["error"]["code"] == "invalid_request"


def test_the_user_of_a_check_counts_as_a_read(stage: Stage) -> None:
    stage.frames = stage.environment(stage.world.access, RateLimiter(RateSettings(request_rate=1), None, lambda: 1000))
    rooms = {f"r-{number}": NOTHING for number in range(20)}

    answer = stage.request("check", "bob", rooms=rooms, users={"bob": NOTHING})

    assert answer["users"]["bob"]["error"]["code"] == "rate_limited"
