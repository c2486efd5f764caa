"""Stored rows of rooms with subscribers become live copies, and failures affect no stored row."""

from __future__ import annotations

import json

import pytest

from headrace.core.errors import StoreUnavailable
from headrace.core.times import iso
from headrace.live import copies
from headrace.live.copies import LiveCopy
from headrace.queues.names import SIGNAL_QUEUE, live_queue, live_queues
from headrace.streams.chat.messages.hooks import NOTICES, LiveHook
from headrace.streams.chat.messages.positions import UNLOGGED, parse_position, position
from tests.worlds.live_world import Live, row
from tests.worlds.senders import NOW


def test_messages_of_a_subscribed_room_are_sent_together_as_in_history() -> None:
    live = Live()
    live.subscribe("kitchen")

    live.store(row(text="one"), row("hall"), row(text="two", id="m-2"), row(text="two", id="m-2"))

    assert live.pushed() == [("kitchen", ["one", "two"])]
    (frame,) = [json.loads(each.body) for each in live.publisher.sent]
    assert (frame["type"], parse_position(frame["position"]).time) == ("messages", live.clock.now())
    assert frame["items"][0] == {
        "key": row(text="one")["timestampSk"],
        "roomId": "kitchen",
        "messageId": "m-1",
        "timestamp": NOW,
        "userId": "alice",
        "username": "Alice",
        "message": "one",
        "messageType": "TEXT",
    }


def test_a_broker_that_refuses_live_copies_fails_no_event() -> None:
    live = Live()
    live.subscribe("kitchen")

    live.store_unpublished(row())


def test_the_copies_after_a_failed_publish_say_that_some_were_missed() -> None:
    live = Live()
    live.subscribe("kitchen")
    live.store_unpublished(row())

    live.store(row())
    live.store(row())

    assert [copies.parse(each.body).missed for each in live.publisher.sent] == [True, False]


def test_after_an_outage_each_room_gets_one_notice_that_messages_were_missed() -> None:
    """Also a room that is silent since. Rooms after the first ones get the notice with later batches."""
    live = Live()
    rooms = [f"room-{number}" for number in range(NOTICES + 5)]
    for room in [*rooms, "kitchen"]:
        live.subscribe(room)
    for room in [*rooms, "kitchen"]:
        live.store_unpublished(row(room))

    for _ in range(3):
        live.store(row("kitchen", "after"))

    noticed = [each.room_id for each in live.copies() if each.missed]
    assert sorted(noticed) == sorted([*rooms, "kitchen"])
    assert [len(each.items) for each in live.copies() if each.room_id == "kitchen"] == [1, 1, 1]


def test_a_room_without_new_messages_in_the_batch_gets_the_notice_too() -> None:
    """The batch has only a room without subscribers."""
    live = Live()
    live.subscribe("kitchen")
    live.store_unpublished(row())

    live.store(row("hall"))

    assert [(each.room_id, each.missed) for each in live.copies()] == [("kitchen", True)]


def test_messages_that_no_log_has_get_a_mark_that_later_checks_find() -> None:
    live = Live()
    live.cache.down = True
    rows = [row(), row(id="m-2")]

    live.store(*rows)
    live.store(*rows)

    assert sorted(live.marks) == [("kitchen", each["timestampSk"], iso(live.clock.now() + UNLOGGED)) for each in rows]
    live.failure = StoreUnavailable("down")
    assert live.hook.after_store([row(id="m-3"), rows[0]]) == [live.failure, None]


def test_each_copy_follows_the_one_before_it_and_a_position_of_the_log() -> None:
    """A batch beyond the size of a frame has several copies."""
    live = Live()
    live.subscribe("kitchen")
    at_first = live.log.since({"kitchen": ""})["kitchen"].tag

    live.store(row())
    live.store(*(row(text=f"{n}" + "x" * 4000, id=f"m-{n}") for n in range(20)))

    copies = live.copies()
    (chain,) = LiveCopy("kitchen", links={key: at for each in copies for key, at in each.links.items()}).chains()
    assert len(copies) > 3
    assert (chain[0][0], chain[1]) == (at_first, copies[-1].position)
    assert live.log.since({"kitchen": ""})["kitchen"].tag == parse_position(copies[-1].position).tag
    frames_since = live.log.since({"kitchen": at_first})["kitchen"].frames or []
    logged = [json.loads(each.items) for each in frames_since]
    assert logged == [list(each.items.values()) for each in copies]


@pytest.mark.parametrize("first", ["quiet", "followed"])
def test_a_log_is_read_only_from_where_it_is_complete(first: str) -> None:
    """The items of a room without subscribers are not logged."""
    live = Live()
    if first == "followed":
        live.subscribe("kitchen")
    tags = []
    for _ in range(2):
        live.store(row())
        tags.append(live.log.since({"kitchen": ""})["kitchen"].tag)
    live.subscribe("kitchen")
    live.store(row())

    live.store(row())

    since_first, newest = (live.log.since({"kitchen": tag})["kitchen"].frames for tag in (tags[0], tags[1]))
    assert (since_first is None) == (first == "quiet")
    assert len(newest or []) == 2 * (first == "followed")
    assert len({parse_position(each.position).tag for each in live.copies()}) == len(live.copies())


def test_copies_of_messages_that_the_log_does_not_have_follow_nothing() -> None:
    live = Live()
    live.subscribe("kitchen")
    live.cache.down = True

    live.store(row())

    assert [(each.links, each.position) for each in live.copies()] == [({}, position(live.clock.now()))]


def test_an_unexpected_error_returns_no_event_to_the_queue() -> None:
    live = Live()
    live.hook = LiveHook(live.log, live.audience, lambda: None, live.clock, live.set_stored)  # type: ignore[arg-type]
    live.subscribe("kitchen")

    live.store(row())


def test_a_rooms_copies_all_go_through_one_queue() -> None:
    names = {live_queue(f"room {number}") for number in range(100)}

    assert names == set(live_queues()) - {SIGNAL_QUEUE}
    assert live_queue("кухня") == live_queue("кухня")
