"""Frames that subscribe, unsubscribe and read history: their answers, and who may send them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from headrace.api.responses import FRAME_BYTES
from headrace.core.caller import Caller
from headrace.live.connections import CONNECTION_SECONDS, Subscription
from headrace.live.hints import SOME, live_marker
from headrace.live.shares import CONNECTIONS_PER_ROOM
from headrace.streams.chat.messages.positions import position
from headrace.streams.chat.messages.room_log import newest_tag
from headrace.streams.chat.rooms.read_scope import ReadScope
from headrace.streams.chat.rooms.rooms import Room
from tests.fakes.live import MemoryRoomLog
from tests.worlds.frame_stage import TICKS, Stage
from tests.worlds.room_world import GROUP, OPEN
from tests.worlds.room_world import caller as user
from tests.worlds.senders import CLOCK, NOW


@pytest.fixture
def stage() -> Stage:
    return Stage()


def test_subscribing_returns_a_position_that_finds_later_messages(stage: Stage) -> None:
    answer = stage.request("subscribe", roomId="kitchen")
    assert answer == {
        "type": "subscribed",
        "requestId": "r-1",
        "roomId": "kitchen",
        "position": position(CLOCK.now(), newest_tag(MemoryRoomLog(stage.cache), "kitchen")),
        "tokenExpiresAt": "2100-01-01T00:00:00.000000Z",
        "correlationId": "r-1",
    }
    stage.store_message("kitchen", "older", timestamp="2025-11-21T09:00:00Z", messageId="m-9")
    key = stage.store_message("kitchen", "later")

    found = stage.request("history", roomId="kitchen", since=answer["position"])["items"]
    assert [item["key"] for item in found] == [key]
    assert stage.listening("kitchen") == [Subscription("c-1", "alice")]
    (mark,) = stage.cache.get_many([live_marker("kitchen")])
    assert (mark or b"").startswith(SOME)


def test_a_subscription_ends_with_its_connection_and_with_its_token(stage: Stage) -> None:
    stage.request("subscribe", roomId="kitchen")

    row = stage.connections.rows["kitchen", "c-1"]
    assert row["expiresAt"] - (TICKS - 100) - CONNECTION_SECONDS in range(1, 3600)
    for name in ("expiresAt", "tokenExpiresAt"):
        stage.connections.rows["kitchen", "c-1"] = {**row, name: TICKS}
        assert stage.listening("kitchen") == []
        # A token that has expired may have been renewed.
        assert stage.connections.has_subscriptions("kitchen") == (name == "tokenExpiresAt")


def test_a_user_follows_a_room_over_a_bounded_number_of_connections(stage: Stage) -> None:
    for number in range(CONNECTIONS_PER_ROOM):
        assert stage.request("subscribe", roomId="kitchen", connection=f"c-{number}")["type"] == "subscribed"

    answer = stage.request("subscribe", roomId="kitchen", connection="one-more")

    assert (answer["type"], answer["error"]["code"]) == ("error", "rate_limited")
    assert answer["error"]["retryAfter"] >= 1
    (detail,) = answer["error"]["details"]
    assert (detail["field"], detail["got"]) == ("roomId", "kitchen")
    assert detail["allowed"] == f"a room that you follow over fewer than {CONNECTIONS_PER_ROOM} connections"
    assert stage.request("subscribe", roomId="kitchen", connection="c-0")["type"] == "subscribed"
    assert stage.request("subscribe", roomId="hall", connection="one-more")["type"] == "subscribed"
    assert stage.request("subscribe", "bob", roomId="kitchen", connection="bobs")["type"] == "subscribed"
    assert len(stage.listening("kitchen")) == CONNECTIONS_PER_ROOM + 1


def test_unsubscribing_ends_it_and_is_harmless_twice(stage: Stage) -> None:
    stage.request("subscribe", roomId="kitchen")
    stage.request("subscribe", roomId="kitchen", connection="c-2")

    for _ in range(2):
        assert stage.request("unsubscribe", roomId="kitchen")["type"] == "unsubscribed"

    assert stage.listening("kitchen") == [Subscription("c-2", "alice")]


def test_history_over_the_connection_is_the_page_that_http_gives(stage: Stage) -> None:
    for number in range(5):
        stage.store_message("kitchen", f"n{number}", timestamp=f"2025-11-21T09:00:0{number}Z")

    first = stage.request("history", roomId="kitchen", limit=2, action="history")
    second = stage.request("history", roomId="kitchen", limit=2, before=first["next"])
    assert stage.request("history", roomId="kitchen", limit=2, cursor=first["next"]) == second

    assert (first["type"], first["roomId"], first["hasMore"]) == ("history", "kitchen", True)
    assert [item["message"] for item in first["items"] + second["items"]] == ["n4", "n3", "n2", "n1"]


def test_a_page_over_the_size_of_a_frame_is_cut_with_has_more(stage: Stage) -> None:
    for number in range(60):
        stage.store_message("kitchen", "\u0001" * 4000, timestamp=f"2025-11-21T09:00:{number:02d}Z")

    body = {"roomId": "kitchen", "limit": 60}
    found, pages = 0, 0
    while True:
        page = stage.request("history", **body)
        assert len(json.dumps(page, ensure_ascii=False).encode()) <= FRAME_BYTES
        found, pages = found + len(page["items"]), pages + 1
        if not page["hasMore"]:
            break
        body["before"] = page["next"]

    assert found == 60
    assert pages > 1


def test_p12_a_removed_member_gets_no_more_messages(stage: Stage) -> None:
    """They cannot subscribe again."""
    stage.world.ok("alice", "PUT", "den", GROUP)
    stage.world.bring("alice", "den", "bob")
    for name, connection in (("alice", "c-a"), ("bob", "c-b1"), ("bob", "c-b2")):
        assert stage.request("subscribe", name, connection=connection, roomId="den")["type"] == "subscribed"

    marks = stage.cache.get_many([live_marker("den")])
    stage.world.ok("alice", "DELETE", "den/members/bob")

    assert [each.user_id for each in stage.listening("den")] == ["alice"]
    assert stage.cache.get_many([live_marker("den")]) != marks  # push_live reads the subscriptions again
    answer = stage.request("subscribe", "bob", roomId="den")
    assert answer["error"]["code"] == "forbidden"
    assert answer["error"]["details"][0]["field"] == "roomId"
    assert [each.user_id for each in stage.listening("den")] == ["alice"]


def test_p12_a_removal_during_a_subscribe_leaves_no_subscription(stage: Stage) -> None:
    """The race: rights are checked, then the membership ends without a row to delete, then the row is written."""
    stage.world.ok("alice", "PUT", "den", GROUP)
    stage.world.bring("alice", "den", "bob")

    class Raced:
        def read_scopes(self, caller: Caller, room_ids: Sequence[str]) -> dict[str, ReadScope | None]:
            found = stage.world.access.read_scopes(caller, room_ids)
            if not left:
                left.append(stage.world.ok("alice", "DELETE", "den/members/bob"))
            return found

    left: list[Any] = []
    stage.frames = stage.environment(Raced())

    assert stage.request("subscribe", "bob", roomId="den")["error"]["code"] == "forbidden"
    assert stage.listening("den") == []


def test_a_rejoin_during_a_subscribe_counts_from_the_new_join(stage: Stage) -> None:
    stage.world.ok("alice", "PUT", "den", GROUP)
    stage.world.bring("alice", "den", "bob")

    class Raced:
        def read_scopes(self, caller: Caller, room_ids: Sequence[str]) -> dict[str, ReadScope | None]:
            found = stage.world.access.read_scopes(caller, room_ids)
            if not again:
                stage.world.clock.advance(1)
                stage.world.ok("alice", "DELETE", "den/members/bob")
                stage.world.clock.advance(1)
                again.append(stage.world.bring("alice", "den", "bob")["joinedAt"])
            return found

    again: list[str] = []
    stage.frames = stage.environment(Raced())

    stage.request("subscribe", "bob", roomId="den")

    assert stage.listening("den") == [Subscription("c-1", "bob", again[0])]


def test_p12_subscriptions_of_non_members_end_when_a_room_gets_members(stage: Stage) -> None:
    stage.request("subscribe", "mallory", roomId="den")

    stage.world.ok("alice", "PUT", "den", GROUP)
    stage.request("subscribe", "alice", roomId="den")
    stage.world.ok("alice", "PUT", "den", GROUP)

    assert [each.user_id for each in stage.listening("den")] == ["alice"]


def test_leaving_an_open_room_ends_no_subscription(stage: Stage) -> None:
    stage.world.ok("alice", "PUT", "hall", OPEN)
    stage.world.ok("alice", "PUT", "hall/members/alice")
    stage.request("subscribe", roomId="hall")

    stage.world.ok("alice", "DELETE", "hall/members/alice")

    assert len(stage.listening("hall")) == 1


@pytest.mark.parametrize("action", ["subscribe", "unsubscribe", "history"])
@pytest.mark.parametrize("room", [None, "", "a#b", 7, ["kitchen"], "x" * 129, "a\u0000"])
def test_an_invalid_room_id_is_refused_with_its_field(stage: Stage, action: str, room: object) -> None:
    body = {} if room is None else {"roomId": room}

    answer = stage.request(action, **body)

    assert answer["error"]["code"] == "invalid_request"
    assert answer["error"]["details"][0]["field"] == "roomId"


def test_rooms_of_any_script_are_one_room_in_every_form(stage: Stage) -> None:
    stage.request("subscribe", roomId="cafe\u0301 ☕")

    assert stage.listening("café ☕") == [Subscription("c-1", user("alice").subject)]


def test_a_room_with_an_id_of_an_earlier_version_stays_readable(stage: Stage) -> None:
    """Such ids cannot be in a path, so only frames reach these rows."""
    stage.world.rooms.create(Room("a/b?", "open", "group", NOW, "alice"))

    assert stage.request("history", roomId="a/b?")["items"] == []
