"""A user's rooms: their order, the last readable message, unread messages and read marks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from headrace.api.rates.rate_limiter import RateLimiter
from headrace.core.errors import Forbidden, InvalidCursor, InvalidRequest
from headrace.features.unread import conversations
from headrace.features.unread.conversations import ConversationsQuery
from headrace.features.unread.walks import WALK_SECONDS
from headrace.runtime.settings import RateSettings
from headrace.streams.chat.messages.positions import position
from tests.worlds.conversation_world import ConversationWorld
from tests.worlds.history_world import START, at
from tests.worlds.senders import caller


@pytest.fixture
def world() -> ConversationWorld:
    world = ConversationWorld()
    world.room("kitchen")
    return world


def test_a_conversation_has_its_room_and_its_last_message(world: ConversationWorld) -> None:
    world.join("alice", "kitchen", 1)
    world.store_messages("kitchen", 5, 7)

    item = world.only()

    last = item.pop("lastMessage")
    assert (last["messageId"], last["message"], last["username"]) == ("m1", "text of m1", "Bob")
    assert item == {
        "roomId": "kitchen",
        "kind": "members",
        "form": "group",
        "name": None,
        "topic": None,
        "retentionDays": None,
        "membership": {"state": "in", "since": at(1)},
        "joinedAt": [at(1)],
        "leftAt": [],
        "activityAt": at(7),
        "unread": 2,
        "unreadCapped": False,
        "readTo": None,
    }


def test_conversations_of_another_user_are_forbidden(world: ConversationWorld) -> None:
    """P12: neither does a trusted producer, or an operator."""
    for who in (caller("mallory"), caller("mallory", "chat:read", "events:write", "ops")):
        with pytest.raises(Forbidden):
            world.page(who=who)


def test_expired_messages_are_neither_last_nor_unread(world: ConversationWorld) -> None:
    world.join("alice", "kitchen")
    world.store_messages("kitchen", 1)
    world.store_messages("kitchen", 2, 3, expiresAt=START // 1_000_000 + 100)

    assert (world.only()["lastMessage"]["timestamp"], world.only()["unread"]) == (at(1), 1)


def test_unread_are_texts_of_others_after_the_mark(world: ConversationWorld) -> None:
    world.join("alice", "kitchen", 1)
    world.store_messages("kitchen", 2, 3)
    world.store_messages("kitchen", 4, user="alice")
    world.store_messages("kitchen", 5, user="carol", messageType="JOIN")
    world.store_messages("kitchen", 6, user="carol")

    assert world.only()["unread"] == 3
    world.read("kitchen", at(2))
    assert world.only()["unread"] == 2
    world.read("kitchen", at(6))
    assert world.only()["unread"] == 0


@pytest.mark.parametrize(("said", "unread", "capped"), [(99, 99, False), (100, 100, False), (101, 100, True)])
def test_the_unread_count_ends_at_a_hundred_with_a_flag(
    world: ConversationWorld, said: int, unread: int, capped: bool
) -> None:
    world.join("alice", "kitchen")
    world.store_messages("kitchen", *range(1, said + 1))

    assert (world.only()["unread"], world.only()["unreadCapped"]) == (unread, capped)


def test_an_expensive_unread_count_ends_early_with_a_flag(world: ConversationWorld) -> None:
    world.join("alice", "kitchen")
    world.store_messages("kitchen", 1)
    world.store_messages("kitchen", *(2 + n / 100 for n in range(5000)), user="alice")
    world.store_messages("kitchen", 100)

    assert (world.only()["unread"], world.only()["unreadCapped"]) == (1, True)


def test_a_mark_is_a_key_or_a_time_and_includes_its_message(world: ConversationWorld) -> None:
    world.join("alice", "kitchen")
    first, *_ = world.store_messages("kitchen", 5, 5, 5)
    world.store_messages("kitchen", 6)

    assert world.read("kitchen", first) == first
    assert world.only()["unread"] == 3
    assert world.read("kitchen", f"{at(5)}#m1") == f"{at(5)}#m1"
    assert world.only()["unread"] == 2
    assert world.read("kitchen", START // 1000 + 5000) == at(5)
    assert world.only()["unread"] == 1
    assert world.only()["readTo"] == at(5)


def test_the_later_of_two_concurrent_marks_wins(world: ConversationWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    world.join("alice", "kitchen")
    slower = world.memberships.get("alice", "kitchen")
    world.read("kitchen", at(6))
    answers = iter([slower, world.memberships.get("alice", "kitchen")])
    monkeypatch.setattr(world.memberships, "get", lambda *_: next(answers))

    assert world.read("kitchen", at(5)) == at(6)


def test_only_present_and_former_members_have_a_read_mark(world: ConversationWorld) -> None:
    """P12: a mark belongs to a membership, in an open room too."""
    world.room("lobby", "open")
    for room in ("kitchen", "lobby", "nowhere"):
        with pytest.raises(Forbidden):
            world.read(room, at(5))
    world.join("alice", "kitchen", 1)
    world.leave("alice", "kitchen", 5)

    assert world.read("kitchen", at(3)) == at(3)


@pytest.mark.parametrize(
    "up_to", [None, "", "yesterday", "2025-11-21T10:00:00", "#", f"{at(5)}#", f"{at(5)}#a#b", 1.5, True, []]
)
def test_a_mark_of_another_form_is_refused(world: ConversationWorld, up_to: Any) -> None:
    world.join("alice", "kitchen")

    with pytest.raises(InvalidRequest) as refused:
        world.read("kitchen", up_to)

    (detail,) = refused.value.details
    assert detail.field == "upTo"


def test_a_mark_too_far_ahead_is_refused(world: ConversationWorld) -> None:
    world.join("alice", "kitchen")

    assert world.read("kitchen", at(1000 + 300)) == at(1000)
    for up_to in (at(1000 + 301), f"{at(1301)}#m1"):
        with pytest.raises(InvalidRequest, match="too far ahead"):
            world.read("kitchen", up_to)


def test_a_mark_on_a_message_that_is_ahead_hides_no_later_message(world: ConversationWorld) -> None:
    world.join("alice", "kitchen")
    world.store_messages("kitchen", 1200)

    world.read("kitchen", f"{at(1200)}#m1")
    world.store_messages("kitchen", 1001)

    assert world.page()["items"][0]["unread"] == 2


def test_a_position_is_a_read_mark_too(world: ConversationWorld) -> None:
    world.join("alice", "kitchen")

    assert world.read("kitchen", position(world.clock.now())) == at(1000)


def walk_with_new_activity(world: ConversationWorld) -> list[str]:
    """The rooms of a walk in which one room of a later page gets a message after each page."""
    seen, before = [], None
    for page_number in range(3):
        page = world.page(3, before)
        seen += [item["roomId"] for item in page["items"]]
        before = page["next"]
        world.store_messages(f"room-{page_number}", 100 + page_number)
    assert before is None
    return seen


def nine_rooms() -> ConversationWorld:
    world = ConversationWorld()
    for number in range(9):
        world.room(f"room-{number}")
        world.join("alice", f"room-{number}", number)
    return world


def test_a_walk_visits_each_room_once() -> None:
    assert walk_with_new_activity(nine_rooms()) == [f"room-{number}" for number in range(8, -1, -1)]


def test_without_the_cache_a_walk_visits_each_room_without_new_activity_once() -> None:
    world = nine_rooms()
    world.cache.down = True

    assert walk_with_new_activity(world) == [f"room-{number}" for number in (8, 7, 6, 5, 4, 3, 2)]


def test_a_walk_reads_all_rooms_for_the_first_page_only(monkeypatch: pytest.MonkeyPatch) -> None:
    world = nine_rooms()
    read: list[int] = []
    of_table = world.rooms.get_many
    monkeypatch.setattr(world.rooms, "get_many", lambda room_ids: read.append(len(room_ids)) or of_table(room_ids))

    assert len(world.walk(3)) == 9
    assert read == [9, 3, 3]
    world.cache.clear()
    read.clear()
    cursor = world.page(3)["next"]
    world.clock.advance(WALK_SECONDS + 1)
    second = world.page(3, cursor)
    assert read == [9, 9]
    assert world.page(3, cursor) == second, "an earlier page may be read again"


def test_p12_a_walk_shows_memberships_as_they_are_and_not_as_they_were() -> None:
    world = nine_rooms()
    cursor = world.page(3)["next"]
    world.leave("alice", "room-5", 500)
    world.leave("alice", "room-4", 500)
    world.memberships.leave_for_good("alice", "room-4")
    world.store_messages("room-5", 600)

    page = world.page(3, cursor)

    assert [item["roomId"] for item in page["items"]] == ["room-5", "room-3"]
    left = page["items"][0]
    assert (left["membership"]["state"], left["lastMessage"], left["activityAt"]) == ("left", None, at(500))
    assert page["hasMore"]


def limit_reads(world: ConversationWorld) -> Callable[[], str]:
    """Let each user read ten times; returns a function that says how often Alice still can."""
    limiter = RateLimiter(RateSettings(request_rate=2), None, lambda: 1000)
    world.chat = replace(world.chat, limiter=limiter)
    return lambda: limiter.headers(caller(), "reads")["ratelimit"]


def test_a_whole_list_counts_as_a_read_for_each_hundred_rooms() -> None:
    world = ConversationWorld()
    left = limit_reads(world)
    for number in range(399):
        world.room(f"room-{number}")
        world.join("alice", f"room-{number}", number)

    cursor = world.page(3)["next"]
    assert left() == '"reads";r=7;t=5'
    world.page(3, cursor)
    assert left() == '"reads";r=7;t=5'


def test_a_page_counts_as_one_more_read_for_each_fifty_shards_of_its_rooms() -> None:
    world = ConversationWorld()
    left = limit_reads(world)
    for number in range(7):
        world.room(f"stadium-{number}~16")
        world.join("alice", f"stadium-{number}~16", number)

    world.page()

    assert left() == '"reads";r=8;t=5'


def test_messages_are_read_for_the_rooms_of_the_page_only() -> None:
    world = ConversationWorld()
    for number in range(50):
        world.room(f"room-{number}")
        world.join("alice", f"room-{number}", number)
        world.store_messages(f"room-{number}", 100 + number)

    world.page(5)

    assert {query.partition for query in world.reader.queries} == {f"room-{number}" for number in range(45, 50)}


def test_a_list_that_does_not_cover_all_rooms_has_a_flag(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conversations, "ROOMS_LIMIT", 3)
    world = ConversationWorld()
    for number in range(4):
        assert world.page()["complete"]
        world.room(f"room-{number}")
        world.join("alice", f"room-{number}", number)

    page = world.page()

    assert (len(page["items"]), page["complete"]) == (3, False)


def test_cursors_of_others_are_refused(world: ConversationWorld) -> None:
    for number in range(3):
        world.room(f"room-{number}")
        world.join("alice", f"room-{number}")
        world.join("bob", f"room-{number}")
    cursor = world.page(1)["next"]

    assert world.page(1, cursor)["items"]
    by_cursor = world.page_of(caller(), ConversationsQuery(limit=1, cursor=cursor))
    assert by_cursor == world.page(1, cursor)
    for forged in (cursor[:-2], "", "nonsense"):
        with pytest.raises(InvalidCursor):
            world.page(1, forged)
    with pytest.raises(InvalidCursor):
        world.page_of(caller("bob"), ConversationsQuery(before=cursor), "bob")
