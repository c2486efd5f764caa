"""Frames about a room: who may subscribe, since when, and the answer."""

from __future__ import annotations

import json
from typing import Any

import pytest

from headrace.api.paging.cursors import CursorSigner
from headrace.api.responses import FRAME_BYTES
from headrace.api.router import FrameRouter
from headrace.bootstrap.api import ACTIONS
from headrace.core.caller import Caller
from headrace.core.keys import live_marker
from headrace.core.times import SECOND
from headrace.live.connections import CONNECTION_SECONDS, Subscription
from headrace.live.subscriber_hints import SOME, SubscriberHints
from headrace.storage.ports import Table
from headrace.streams.chat.access import ReadScope, RoomAccess
from headrace.streams.chat.frames import Subscriptions
from headrace.streams.chat.history import History
from headrace.streams.chat.stream import CHAT
from tests.fakes.storage import MemoryCache, MemoryReader
from tests.worlds.functions import routes_of
from tests.worlds.room_world import GROUP, OPEN, RoomWorld
from tests.worlds.room_world import caller as user
from tests.worlds.senders import CLOCK, NOW, TABLE, message, sender
from tests.worlds.write_path import frame_event

TICKS = CLOCK.now() // SECOND


class Stage:
    """Rooms, their messages, and an environment of read_frame."""

    def __init__(self) -> None:
        self.world = RoomWorld()
        self.connections = self.world.connections
        self.cache = MemoryCache(self.world.clock)
        self.frames = self.environment(self.world.access)

    def environment(self, access: RoomAccess) -> FrameRouter:
        reader = MemoryReader(self.world.write_path.store.rows)
        history = History(reader, CursorSigner(b"k" * 32), TABLE.table, self.world.clock, access)
        audience = SubscriberHints(self.cache, self.connections)
        found = Subscriptions(self.connections, audience, access, history, reader, TABLE.table)
        return FrameRouter(routes_of("read_frame"), lambda: found, self.world.clock, actions=ACTIONS)

    def say(self, room: str, text: str, **more: Any) -> str:
        """Store a message; its key."""
        event = CHAT.accept(message(roomId=room, message=text, **more), sender()).event
        row = CHAT.item(event, CLOCK.now(), TABLE)
        self.world.write_path.store.put_many(Table(TABLE.table, ("roomId", "timestampSk")), [row])
        return str(row["timestampSk"])

    def ask(
        self,
        act: str,
        subject: str = "alice",
        *,
        connection: str = "c-1",
        scope: str = "chat:read",
        **body: Any,
    ) -> dict[str, Any]:
        event = frame_event({"requestId": "r-1", **body}, subject=subject, scope=scope)
        event["requestContext"] |= {"connectionId": connection, "connectedAt": (TICKS - 100) * 1000}
        event["requestContext"]["routeKey"] = act
        answer = self.frames(event)
        assert answer["statusCode"] == 200
        found: dict[str, Any] = json.loads(answer["body"])
        assert found["requestId"] == "r-1"
        return found

    def listening(self, room: str) -> list[Subscription]:
        return self.connections.subscriptions(room)


@pytest.fixture
def stage() -> Stage:
    return Stage()


def test_subscribing_is_answered_with_the_newest_key_so_that_a_gap_shows(stage: Stage) -> None:
    assert stage.ask("subscribe", roomId="kitchen") == {
        "type": "subscribed",
        "requestId": "r-1",
        "roomId": "kitchen",
        "newest": None,
        "tokenExpiresAt": "2100-01-01T00:00:00.000000Z",
    }
    stage.say("kitchen", "older", timestamp="2025-11-21T09:00:00Z", messageId="m-9")
    newest = stage.say("kitchen", "newest")

    assert stage.ask("subscribe", roomId="kitchen")["newest"] == newest
    assert stage.listening("kitchen") == [Subscription("c-1", "alice")]
    assert stage.cache.get_many([live_marker("kitchen")]) == [SOME]


def test_a_subscription_ends_with_its_connection_and_with_its_token(stage: Stage) -> None:
    stage.ask("subscribe", roomId="kitchen")

    row = stage.connections.rows["kitchen", "c-1"]
    assert row["expiresAt"] - (TICKS - 100) - CONNECTION_SECONDS in range(1, 3600)
    for name in ("expiresAt", "tokenExpiresAt"):
        stage.connections.rows["kitchen", "c-1"] = {**row, name: TICKS}
        assert stage.listening("kitchen") == []
        # A token that has expired may have been renewed.
        assert stage.connections.has_subscriptions("kitchen") == (name == "tokenExpiresAt")


def test_unsubscribing_ends_it_and_is_harmless_twice(stage: Stage) -> None:
    stage.ask("subscribe", roomId="kitchen")
    stage.ask("subscribe", roomId="kitchen", connection="c-2")

    for _ in range(2):
        assert stage.ask("unsubscribe", roomId="kitchen")["type"] == "unsubscribed"

    assert stage.listening("kitchen") == [Subscription("c-2", "alice")]


def test_history_over_the_connection_is_the_page_that_http_gives(stage: Stage) -> None:
    for number in range(5):
        stage.say("kitchen", f"n{number}", timestamp=f"2025-11-21T09:00:0{number}Z")

    first = stage.ask("history", roomId="kitchen", limit=2, action="history")
    second = stage.ask("history", roomId="kitchen", limit=2, before=first["next"])

    assert (first["type"], first["roomId"], first["hasMore"]) == ("history", "kitchen", True)
    assert [item["message"] for item in first["items"] + second["items"]] == ["n4", "n3", "n2", "n1"]


def test_a_page_that_no_frame_holds_is_cut_short_and_says_so(stage: Stage) -> None:
    for number in range(60):
        stage.say("kitchen", "\u0001" * 4000, timestamp=f"2025-11-21T09:00:{number:02d}Z")

    body = {"roomId": "kitchen", "limit": 60}
    found, pages = 0, 0
    while True:
        page = stage.ask("history", **body)
        assert len(json.dumps(page, ensure_ascii=False).encode()) <= FRAME_BYTES
        found, pages = found + len(page["items"]), pages + 1
        if not page["hasMore"]:
            break
        body["before"] = page["next"]

    assert found == 60
    assert pages > 1


@pytest.mark.parametrize("action", ["subscribe", "history"])
def test_p12_who_was_never_in_a_members_room_hears_and_reads_nothing(stage: Stage, action: str) -> None:
    stage.world.ok("alice", "PUT", "den", GROUP)

    answer = stage.ask(action, "mallory", roomId="den")

    assert (answer["type"], answer["error"]["code"]) == ("error", "forbidden")
    assert stage.listening("den") == []


def test_p12_a_removed_member_gets_no_more_messages(stage: Stage) -> None:
    """They cannot subscribe again."""
    stage.world.ok("alice", "PUT", "den", GROUP)
    stage.world.ok("alice", "PUT", "den/members/bob")
    for name, connection in (("alice", "c-a"), ("bob", "c-b1"), ("bob", "c-b2")):
        assert stage.ask("subscribe", name, connection=connection, roomId="den")["type"] == "subscribed"

    stage.world.ok("alice", "DELETE", "den/members/bob")

    assert [each.user_id for each in stage.listening("den")] == ["alice"]
    answer = stage.ask("subscribe", "bob", roomId="den")
    assert answer["error"]["code"] == "forbidden"
    assert answer["error"]["details"][0]["field"] == "roomId"
    assert [each.user_id for each in stage.listening("den")] == ["alice"]


def test_a_member_hears_from_the_last_join_on(stage: Stage) -> None:
    stage.world.ok("alice", "PUT", "den", GROUP)
    stage.world.clock.advance(60)
    joined = stage.world.ok("alice", "PUT", "den/members/bob")["joinedAt"]

    stage.ask("subscribe", "bob", roomId="den")

    assert stage.listening("den") == [Subscription("c-1", "bob", joined)]
    assert joined > NOW


def test_p12_a_removal_while_somebody_subscribes_leaves_no_subscription(stage: Stage) -> None:
    """The race: rights are checked, the membership ends and finds no row yet, and only then the row is written."""
    stage.world.ok("alice", "PUT", "den", GROUP)
    stage.world.ok("alice", "PUT", "den/members/bob")

    class Raced:
        def read_scope(self, caller: Caller, room_id: str) -> ReadScope:
            found = stage.world.access.read_scope(caller, room_id)
            if not left:
                left.append(stage.world.ok("alice", "DELETE", "den/members/bob"))
            return found

    left: list[Any] = []
    stage.frames = stage.environment(Raced())

    assert stage.ask("subscribe", "bob", roomId="den")["error"]["code"] == "forbidden"
    assert stage.listening("den") == []


def test_a_rejoin_while_somebody_subscribes_counts_from_the_new_join(stage: Stage) -> None:
    stage.world.ok("alice", "PUT", "den", GROUP)
    stage.world.ok("alice", "PUT", "den/members/bob")

    class Raced:
        def read_scope(self, caller: Caller, room_id: str) -> ReadScope:
            found = stage.world.access.read_scope(caller, room_id)
            if not again:
                stage.world.clock.advance(1)
                stage.world.ok("alice", "DELETE", "den/members/bob")
                stage.world.clock.advance(1)
                again.append(stage.world.ok("alice", "PUT", "den/members/bob")["joinedAt"])
            return found

    again: list[str] = []
    stage.frames = stage.environment(Raced())

    stage.ask("subscribe", "bob", roomId="den")

    assert stage.listening("den") == [Subscription("c-1", "bob", again[0])]


def test_p12_who_listened_to_a_room_before_it_was_one_for_members_is_out(stage: Stage) -> None:
    stage.ask("subscribe", "mallory", roomId="den")

    stage.world.ok("alice", "PUT", "den", GROUP)
    stage.ask("subscribe", "alice", roomId="den")
    stage.world.ok("alice", "PUT", "den", GROUP)

    assert [each.user_id for each in stage.listening("den")] == ["alice"]


def test_leaving_an_open_room_ends_no_subscription_since_everybody_may_read_it(stage: Stage) -> None:
    stage.world.ok("alice", "PUT", "hall", OPEN)
    stage.world.ok("alice", "PUT", "hall/members/alice")
    stage.ask("subscribe", roomId="hall")

    stage.world.ok("alice", "DELETE", "hall/members/alice")

    assert len(stage.listening("hall")) == 1


@pytest.mark.parametrize("action", ["subscribe", "unsubscribe", "history"])
@pytest.mark.parametrize("room", [None, "", "a#b", 7, ["kitchen"], "x" * 129, "a\u0000"])
def test_a_room_that_is_none_is_refused_by_name(stage: Stage, action: str, room: object) -> None:
    body = {} if room is None else {"roomId": room}

    answer = stage.ask(action, **body)

    assert answer["error"]["code"] == "invalid_request"
    assert answer["error"]["details"][0]["field"] == "roomId"


@pytest.mark.parametrize(
    "body",
    [
        {"limit": 0},
        {"limit": -1},
        {"limit": 10_000},
        {"limit": True},
        {"limit": [1]},
        {"before": "forged"},
        {"before": {}},
        {"before": "a", "after": "b"},
        {"from": "yesterday"},
        {"page": 2},
    ],
)
def test_a_page_that_cannot_be_is_refused_and_never_an_error_of_ours(stage: Stage, body: dict[str, Any]) -> None:
    answer = stage.ask("history", roomId="kitchen", **body)

    assert answer["error"]["code"] in ("invalid_request", "invalid_cursor")


@pytest.mark.parametrize("action", ["subscribe", "unsubscribe", "history"])
def test_a_token_that_may_not_read_may_not_listen(stage: Stage, action: str) -> None:
    assert stage.ask(action, roomId="kitchen", scope="chat:write")["error"]["code"] == "forbidden"
    assert stage.listening("kitchen") == []


def test_an_action_that_there_is_not_is_refused(stage: Stage) -> None:
    assert stage.ask("dance", action="dance")["error"]["details"][0]["field"] == "action"


def test_rooms_of_any_script_are_one_room_in_every_form(stage: Stage) -> None:
    stage.ask("subscribe", roomId="cafe\u0301 ☕")

    assert stage.listening("café ☕") == [Subscription("c-1", user("alice").subject)]
