"""Replies to a message: which are on its pages, in which order, and for whom."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.api.paging.request import ListRequest
from headrace.core.errors import Forbidden, InvalidCursor, NotFound
from headrace.core.times import MINUTE, SECOND, iso
from headrace.features.replies.field import thread
from headrace.features.replies.routes import list_replies
from headrace.stage.registry import STREAMS
from headrace.streams.chat.rooms.requests import MessagePath
from headrace.streams.chat.stream import MESSAGE, THREAD
from tests.unit.streams.chat.test_stream import refused
from tests.worlds.requests import request_of
from tests.worlds.retention_world import RetentionWorld
from tests.worlds.room_world import caller
from tests.worlds.senders import CHAT, TABLE, message, sender

HOUR = 1 / 24
REPLIED = "2025-11-21T10:00:58.722861Z#m-0#fpmansl7byak"


def reply(world: RetentionWorld, number: int, to: dict[str, Any], days: float = 0, **more: Any) -> dict[str, Any]:
    return world.message(number, days, replyTo=world.key(to), **more)


def test_the_longest_thread_fits_into_a_key_of_an_index() -> None:
    longest = "\U0001f600" * 128

    assert len(thread(longest, f"{REPLIED.partition('#')[0]}#{longest}#fpmansl7byak").encode()) <= 2048


def test_pages_have_the_replies_oldest_first_and_no_other_message() -> None:
    world = RetentionWorld()
    first, second = world.message(1, HOUR), world.message(2, HOUR)
    replies = [reply(world, number, first, (9 - number) * HOUR / 60) for number in (3, 4, 5, 6, 7)]
    world.store(second, replies[4], replies[2], reply(world, 8, second), first, *replies, world.message(9))

    assert world.replies(first) == [f"text {number}" for number in (3, 4, 5, 6, 7)]
    assert world.replies(second) == ["text 8"]
    assert world.replies(world.message(9)) == []


def test_a_reply_stays_a_message_and_says_what_it_answers() -> None:
    world = RetentionWorld()
    first = world.message(1, HOUR)
    (row,) = world.store(reply(world, 2, first))

    assert row["replyTo"] == world.key(first)
    assert world.texts() == ["text 2"]
    assert world.replies(first) == ["text 2"]  # though it was never stored


def test_edits_and_deletions_of_replies_are_on_their_pages() -> None:
    world = RetentionWorld()
    first = world.message(1, HOUR)
    edited, deleted = reply(world, 2, first, HOUR / 2), reply(world, 3, first, HOUR / 2)
    world.store(first, edited, deleted, world.change(edited, "new"), world.change(deleted, None))
    world.store(world.change(first, None))

    assert world.replies(first) == ["new", ""]


def test_replies_to_equal_keys_in_two_rooms_stay_in_their_rooms() -> None:
    world = RetentionWorld()
    world.ok("bob", "PUT", "hall", {"kind": "open"})
    here, there = world.message(1, HOUR), world.message(1, HOUR, room="hall")
    assert world.key(here) == world.key(there)
    world.store(here, there, reply(world, 2, here), reply(world, 3, there, room="hall"))

    assert world.replies(there) == ["text 3"]
    assert world.replies(here) == ["text 2"]


def test_a_reader_sees_the_replies_of_their_intervals() -> None:
    world = RetentionWorld()
    first = world.message(1, 70)  # before bob was in the room
    world.store(first, reply(world, 2, first, 65), reply(world, 3, first, 20), reply(world, 4, first))

    assert world.replies(first, "bob") == ["text 3", "text 4"]
    with pytest.raises(Forbidden):
        world.replies(first, "carol")


def test_a_reply_that_has_expired_is_on_no_page() -> None:
    world = RetentionWorld()
    first = world.message(1, HOUR)
    world.store(first, reply(world, 2, first))
    world.wait(TABLE.retention_days * 86400 + 2 * 86400)

    assert world.replies(first) == []


def test_a_cursor_is_of_one_message_and_a_room_has_to_exist() -> None:
    world = RetentionWorld()
    first, other = world.message(1, HOUR), world.message(2, HOUR)
    world.store(first, *[reply(world, number, first) for number in (3, 4)])

    def page(message: dict[str, Any], room: str = "kitchen", **query: Any) -> Any:
        path = MessagePath(roomId=room, key=world.key(message))
        return list_replies(world.read, request_of(caller("bob"), world.clock.now(), path, ListRequest(**query)))

    cursor = page(first, limit=1)["next"]
    assert page(first, cursor=cursor)["hasMore"] is False
    with pytest.raises(InvalidCursor):
        page(other, after=cursor)
    with pytest.raises(NotFound):
        page(first, room="nowhere")


def test_a_message_that_is_no_reply_is_in_no_thread() -> None:
    world = RetentionWorld()

    assert THREAD not in STREAMS[MESSAGE].item(world.message(1), 0, TABLE)
    assert "replyTo" not in world.message(1)


def test_a_reply_that_is_moved_to_a_join_stays_in_its_thread() -> None:
    world = RetentionWorld()
    first = world.message(1, HOUR)
    world.ok("alice", "PUT", "cellar", {"kind": "members"})
    moved = reply(world, 2, first, 0, room="cellar")
    moved["timestamp"] = iso(world.clock.now() - MINUTE)
    (row,) = world.store({**moved, "uncheckedAt": iso(world.clock.now() + SECOND)})

    assert row["timestamp"] > moved["timestamp"]
    assert world.replies({**first, "roomId": "cellar"}, "alice") == ["text 2"]


@pytest.mark.parametrize(
    "given", [7, "", "m-0", "2025-11-21T10:00:58Z#m-0", f"{REPLIED}#x", REPLIED.replace("m-0", "")]
)
def test_a_reply_names_the_key_of_a_message(given: object) -> None:
    assert refused(message(replyTo=given)).keys() == {"replyTo"}


def test_only_texts_are_replies_and_their_keys_are_in_one_form() -> None:
    assert refused(message(replyTo=REPLIED, messageType="JOIN"), trusted=True).keys() == {"replyTo"}
    other_form = REPLIED.replace("722861Z", "722861+00:00")
    assert CHAT.accept(message(replyTo=other_form), sender()).event["replyTo"] == REPLIED


def test_a_reply_to_another_message_is_another_event() -> None:
    one, other = ({"replyTo": REPLIED.replace("m-0", each)} for each in ("m-0", "m-1"))

    assert len({CHAT.accept(message(**fields), sender(trusted=True)).key for fields in ({}, one, other)}) == 3
