"""Stored rows of rooms with subscribers become live copies, and failures affect no stored row."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from headrace.core.errors import StoreUnavailable
from headrace.core.items import Item
from headrace.core.times import SECOND, iso
from headrace.delivery.persister import Persister
from headrace.live import frames
from headrace.live.connections import (
    KEPT_SECONDS,
    LOOK_SECONDS,
    LOOKS,
    MARK_SECONDS,
    NONE,
    SOME,
    SubscriberHints,
    Subscription,
    live_marker,
)
from headrace.live.frames import LiveCopy
from headrace.queues.names import SIGNAL_QUEUE, live_queue, live_queues
from headrace.queues.ports import RetryRecord
from headrace.runtime.breaker import COOLDOWN_SECONDS
from headrace.runtime.observability import Meter
from headrace.streams.chat.messages.hooks import NOTICES, LiveHook
from headrace.streams.chat.messages.positions import UNLOGGED, parse_position, position
from headrace.streams.chat.stream import CHAT
from tests.fakes.clock import FixedClock
from tests.fakes.live import MemoryConnections, MemoryRoomLog
from tests.fakes.queues import MemoryLivePublisher
from tests.fakes.storage import MemoryCache
from tests.worlds.senders import CLOCK, NOW, TABLE, caller, message, sender
from tests.worlds.write_path import WritePath


class Live:
    """The hook with everything that it reads, and a clock that tests move."""

    def __init__(self) -> None:
        self.clock = FixedClock(NOW)
        self.cache = MemoryCache(self.clock)
        self.connections = CountedConnections(self.clock)
        self.audience = SubscriberHints(self.cache, self.connections, lambda: self.clock.now() / SECOND)
        self.publisher = MemoryLivePublisher()
        self.log = MemoryRoomLog(self.cache)
        self.again: list[Item] = []
        """Rows that the hook has stored again."""
        self.failure: StoreUnavailable | None = None
        self.hook = LiveHook(self.log, self.audience, lambda: self.publisher, self.clock, self.store_again)

    def subscribe(self, room: str, connection: str = "c-1", since: str | None = None) -> None:
        self.connections.subscribe(room, connection, caller(), self.clock.now() // SECOND, since)
        self.audience.mark_subscribed(room)

    def store(self, *items: Item) -> None:
        assert self.hook.after_store(CHAT, items) == [None] * len(items)

    def store_again(self, items: Sequence[Item]) -> Sequence[StoreUnavailable | None]:
        self.again += items
        return [self.failure] * len(items)

    def mark(self, room: str) -> bytes | None:
        return self.cache.get_many([live_marker(room)])[0]

    def copies(self) -> list[LiveCopy]:
        return [frames.parse(each.body) for each in self.publisher.sent]

    def pushed(self) -> list[tuple[str, list[str]]]:
        """Rooms and texts, in the order in which they were published."""
        found = []
        for each in self.publisher.sent:
            copy = frames.parse(each.body)
            assert each.routing_key == live_queue(copy.room_id)
            found.append((copy.room_id, [item["message"] for item in copy.items.values()]))
        return found


class CountedConnections(MemoryConnections):
    """Counts calls; it can be down or slow."""

    def __init__(self, clock: FixedClock) -> None:
        super().__init__(clock)
        self.clock = clock
        self.looks = 0
        self.down = False
        self.takes = 0.0

    def has_subscriptions(self, room_id: str) -> bool:
        self.looks += 1
        if self.down:
            raise StoreUnavailable("down")
        found = super().has_subscriptions(room_id)
        self.clock.advance(self.takes)
        return found


def row(room: str = "kitchen", text: str = "hello", id: str = "m-1") -> Item:
    event = CHAT.accept(message(roomId=room, message=text, messageId=id), sender()).event
    return CHAT.item(event, CLOCK.now(), TABLE)


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


def test_a_room_without_subscribers_costs_one_cache_read_and_few_queries() -> None:
    live = Live()
    live.store(row())
    looks, calls = live.connections.looks, live.cache.calls

    for _ in range(100):
        live.store(row(), row(id="m-2"))

    assert (looks, live.connections.looks) == (1, 1)
    assert live.cache.calls - calls == 100
    assert live.pushed() == []
    live.clock.advance(MARK_SECONDS)
    live.store(row())
    assert live.connections.looks == 2


def test_a_new_subscriber_of_a_silent_room_gets_messages_at_once() -> None:
    live = Live()
    live.store(row(text="before"))
    assert live.mark("kitchen") == NONE

    live.subscribe("kitchen")
    live.store(row(text="after"))

    assert live.pushed() == [("kitchen", ["after"])]


def test_a_lookup_before_a_subscription_does_not_hide_it() -> None:
    """The race: the lookup finds no subscriber, one is added and marked, and then the result would be cached."""
    live = Live()

    class Raced(CountedConnections):
        def has_subscriptions(self, room_id: str) -> bool:
            found = super().has_subscriptions(room_id)
            live.subscribe(room_id)
            return found

    live.audience._connections = Raced(live.clock)

    live.store(row(text="first"))
    live.store(row(text="second"))

    assert (live.mark("kitchen") or b"").startswith(SOME)
    assert live.pushed() == [("kitchen", ["first"]), ("kitchen", ["second"])]


def test_a_slow_lookup_is_not_cached() -> None:
    live = Live()
    live.connections.takes = LOOK_SECONDS

    live.store(row())

    assert live.mark("kitchen") is None


def test_a_room_with_subscribers_is_not_looked_up_for_every_batch() -> None:
    live = Live()
    live.subscribe("kitchen")
    live.cache.clear()

    for _ in range(10):
        live.store(row())

    assert len(live.pushed()) == 10
    assert live.connections.looks == 1


@pytest.mark.parametrize("state", ["down", "emptied"])
def test_p10_without_the_cache_all_subscribed_rooms_are_pushed(state: str) -> None:
    live = Live()
    live.subscribe("kitchen")
    live.store(row())
    if state == "down":
        live.cache.down = True
    else:
        live.cache.clear()

    live.store(row(text="again"))

    assert live.pushed()[-1] == ("kitchen", ["again"])


def test_subscribing_works_without_the_cache() -> None:
    live = Live()
    live.cache.down = True

    live.subscribe("kitchen")

    assert live.connections.subscriptions("kitchen") == [Subscription("c-1", "alice")]


def test_an_unavailable_table_is_called_once_and_every_room_is_pushed() -> None:
    live = Live()
    live.connections.down = True

    for room in ("a", "b", "c"):
        live.store(row(room))

    assert [room for room, _ in live.pushed()] == ["a", "b", "c"]
    assert live.connections.looks == 1
    live.clock.advance(COOLDOWN_SECONDS)
    live.store(row("d"))
    assert live.connections.looks == 2


def test_a_batch_of_many_rooms_looks_up_only_a_few() -> None:
    live = Live()

    live.store(*(row(f"room-{number}") for number in range(50)))

    assert live.connections.looks == LOOKS
    assert len(live.pushed()) == 50 - LOOKS


def test_a_broker_that_refuses_live_copies_fails_no_event() -> None:
    live = Live()
    live.subscribe("kitchen")
    live.publisher.down = True

    live.store(row())


def test_the_copies_after_a_failed_publish_say_that_some_were_missed() -> None:
    live = Live()
    live.subscribe("kitchen")
    live.publisher.down = True
    live.store(row())
    live.publisher.down = False

    live.store(row())
    live.store(row())

    assert [frames.parse(each.body).missed for each in live.publisher.sent] == [True, False]


def test_after_an_outage_each_room_is_told_once_that_messages_were_missed() -> None:
    """Also a room that is silent since. Rooms beyond the first are told with later batches."""
    live = Live()
    rooms = [f"room-{number}" for number in range(NOTICES + 5)]
    for room in [*rooms, "kitchen"]:
        live.subscribe(room)
    live.publisher.down = True
    for room in rooms:
        live.store(row(room))
    live.store(row("kitchen"))
    live.publisher.down = False

    for _ in range(3):
        live.store(row("kitchen", "after"))

    told = [each.room_id for each in live.copies() if each.missed]
    assert sorted(told) == sorted([*rooms, "kitchen"])
    assert [len(each.items) for each in live.copies() if each.room_id == "kitchen"] == [1, 1, 1]


def test_a_room_without_new_messages_in_the_batch_is_told_too() -> None:
    """The batch has only a room without subscribers."""
    live = Live()
    live.subscribe("kitchen")
    live.publisher.down = True
    live.store(row())
    live.publisher.down = False

    live.store(row("hall"))

    assert [(each.room_id, each.missed) for each in live.copies()] == [("kitchen", True)]


def test_messages_that_no_log_has_are_stored_again_with_a_mark_that_later_checks_find() -> None:
    live = Live()
    live.cache.down = True

    live.store(row(), row(id="m-2"))
    live.store(*live.again)

    assert [(each["messageId"], each["storedAt"]) for each in live.again] == [
        (name, iso(live.clock.now() + UNLOGGED)) for name in ("m-1", "m-2")
    ]
    live.failure = StoreUnavailable("down")
    assert live.hook.after_store(CHAT, [row(), live.again[0]]) == [live.failure, None]


def test_a_copy_has_the_position_of_its_time_of_storing() -> None:
    live = Live()
    live.subscribe("kitchen")

    live.store(row())

    assert [parse_position(each.position).time for each in live.copies()] == [live.clock.now()]


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
    assert chain == (at_first, copies[-1].position)
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
    live.hook = LiveHook(live.log, live.audience, lambda: None, live.clock, live.store_again)  # type: ignore[arg-type]
    live.subscribe("kitchen")

    live.store(row())


@pytest.mark.parametrize("lane", ["main", "retry"])
def test_both_lanes_publish_what_they_stored_and_only_that(lane: str) -> None:
    live, write_path = Live(), WritePath()
    tables = {"chat": TABLE, "probe": TABLE}
    write_path.persister = Persister(write_path.store, write_path.retry, tables, CLOCK, after=(live.hook,))
    live.subscribe("kitchen")
    write_path.acceptor.accept(
        CHAT, caller(), [message(message="kept"), message(messageId="m-2", message="not kept")], "r", Meter()
    )
    write_path.store.throttled = lambda item: item["messageId"] == "m-2"

    if lane == "main":
        write_path.persist(*write_path.broker.bodies())
    else:
        write_path.persist_retry(*(RetryRecord(body, {}) for body in write_path.broker.bodies()))

    assert live.pushed() == [("kitchen", ["kept"])]


def test_a_rooms_copies_all_go_through_one_queue() -> None:
    names = {live_queue(f"room {number}") for number in range(100)}

    assert names == set(live_queues()) - {SIGNAL_QUEUE}
    assert live_queue("кухня") == live_queue("кухня")


def test_copies_have_the_same_mark_until_the_subscriptions_of_their_room_change() -> None:
    live = Live()
    live.subscribe("kitchen")
    live.store(row(text="one"))
    live.store(row(text="two"))
    live.subscribe("kitchen", "c-2")
    live.store(row(text="three"))
    live.audience.mark_unsubscribed("kitchen")
    live.store(row(text="four"))

    one, two, *others = [copy.mark for copy in live.copies()]

    assert one == two != ""
    assert len({one, *others}) == 3
    merged = LiveCopy("kitchen")
    for copy in live.copies():
        merged.add(copy)
    assert merged.mark == ""


def test_copies_have_no_mark_while_the_cache_is_unavailable() -> None:
    live = Live()
    live.subscribe("kitchen")
    live.cache.down = True

    live.hook.after_store(CHAT, [row(text="one")])

    assert [copy.mark for copy in live.copies()] == [""]


def test_who_is_unsubscribed_while_the_cache_is_unavailable_waits_until_nothing_is_pushed_any_more() -> None:
    cache, waits = MemoryCache(CLOCK), list[float]()
    hints = SubscriberHints(cache, MemoryConnections(CLOCK), sleep=waits.append)

    hints.mark_unsubscribed("kitchen")
    assert waits == []
    cache.down = True
    hints.mark_unsubscribed("kitchen")

    assert waits == [KEPT_SECONDS]
