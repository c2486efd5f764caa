"""Which rooms have subscribers: marks in the cache, and few reads of the table."""

from __future__ import annotations

import pytest

from headrace.live.copies import LiveCopy
from headrace.live.hints import KEPT_SECONDS, LOOK_SECONDS, LOOKS, MARK_SECONDS, SOME, SubscriberHints
from headrace.runtime.breaker import COOLDOWN_SECONDS
from tests.fakes.live import MemoryConnections
from tests.fakes.storage import MemoryCache
from tests.worlds.live_world import CountedConnections, Live, row
from tests.worlds.senders import CLOCK


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


def test_a_lookup_before_a_subscription_does_not_hide_it() -> None:
    """The race: the lookup finds no subscriber, one is added and marked, and then the result would be cached."""
    live = Live()

    class Raced(CountedConnections):
        def has_subscriptions(self, room_id: str) -> bool:
            found = super().has_subscriptions(room_id)
            live.subscribe(room_id)
            return found

    live.audience._audience = Raced(live.clock)

    live.store(row(text="first"))
    live.store(row(text="second"))

    assert (live.mark("kitchen") or b"").startswith(SOME)
    assert live.pushed() == [("kitchen", ["first"]), ("kitchen", ["second"])]


def test_a_slow_lookup_is_not_cached() -> None:
    live = Live()
    live.connections.takes = LOOK_SECONDS

    live.store(row())

    assert live.mark("kitchen") is None


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

    live.hook.after_store([row(text="one")])

    assert [copy.mark for copy in live.copies()] == [""]


def test_who_is_unsubscribed_while_the_cache_is_unavailable_waits_until_nothing_is_pushed_any_more() -> None:
    cache, waits = MemoryCache(CLOCK), list[float]()
    hints = SubscriberHints(cache, MemoryConnections(CLOCK), sleep=waits.append)

    hints.mark_unsubscribed("kitchen")
    assert waits == []
    cache.down = True
    hints.mark_unsubscribed("kitchen")

    assert waits == [KEPT_SECONDS]
