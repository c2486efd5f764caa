"""Live copies are pushed to the subscribers of their room, and failing connections are deleted or rest."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest

from headrace.core.errors import StoreUnavailable
from headrace.core.times import SECOND
from headrace.live import copies
from headrace.live.connections import WARNING_SECONDS, Subscription
from headrace.live.dynamodb import CHECK_SECONDS
from headrace.live.push.api_gateway import PushResult
from headrace.live.push_service import FIRST_REST, LONGEST_REST, TOLERATED, PushService
from tests.fakes.clock import FixedClock
from tests.fakes.live import MemoryConnections, MemoryPusher
from tests.worlds.push_world import PushWorld, item
from tests.worlds.senders import NOW, caller

EARLY, LATE = "2025-11-21T09:00:00.000000Z", "2025-11-21T11:00:00.000000Z"


def test_each_subscriber_of_the_room_gets_one_frame_with_the_whole_batch() -> None:
    """No other connection gets a frame."""
    push = PushWorld()
    push.listen("c-1", "c-2")
    push.listen("c-3", room="hall")

    push.push(item("one"), item("two"), item("two"))

    assert push.got("c-1") == push.got("c-2") == [["one", "two"]]
    assert push.got("c-3") == []
    (frame, _) = (json.loads(push.api.sent[each][0]) for each in ("c-1", "c-2"))
    assert frame == {"type": "messages", "roomId": "kitchen", "position": "p1", "items": [item("one"), item("two")]}


def test_a_frame_has_the_latest_position_of_its_copies() -> None:
    push = PushWorld()
    push.listen("c-1")

    push.push_bodies(*(copies.frames("kitchen", [item(at)], at)[0] for at in ("p2", "p3", "p1")))

    assert [json.loads(frame)["position"] for frame in push.api.sent["c-1"]] == ["p3"]


def test_copies_of_a_batch_are_one_step_and_a_missing_one_shows() -> None:
    """A member who may read none of the messages takes the step too."""
    push = PushWorld()
    push.listen("c-1")
    push.listen("new", since=LATE)

    def copy(text: str, follows: str, position: str) -> bytes:
        return copies.frames("kitchen", [item(text)], links=[((follows,), position)])[0]

    push.push_bodies(copy("two", "b", "p2-c"), copy("one", "a", "p1-b"), copy("four", "d", "p4-e"))

    steps = [("a", "p2-c", 3), ("d", "p4-e", 0)]
    for connection, counts in (("c-1", [3, 0]), ("new", [0, 0])):
        sent = [json.loads(frame) for frame in push.api.sent[connection]]
        assert [(each["follows"], each["position"]) for each in sent] == [step[:2] for step in steps]
        assert [len(each["items"]) for each in sent] == counts


def test_what_the_publisher_missed_is_missed_by_every_subscriber() -> None:
    push = PushWorld()
    push.listen("c-1", "c-2")

    push.push_bodies(*copies.frames("kitchen", [item("one")], "p1", missed=True))

    assert push.got("c-1") == push.got("c-2") == [["missed", "one"]]


def test_p12_a_member_gets_no_message_from_before_the_join() -> None:
    push = PushWorld()
    push.listen("old", since=EARLY)
    push.listen("new", since=NOW)

    push.push(item("before", "2025-11-21T09:30:00.000000Z"), item("at"), item("after", LATE))
    push.push(item("only before", "2025-11-21T09:30:00.000000Z"))

    assert push.got("old") == [["before", "at", "after"], ["only before"]]
    assert push.got("new") == [["at", "after"]]


def test_a_frame_warns_of_a_token_that_expires_soon_until_it_is_renewed() -> None:
    push, soon = PushWorld(), FixedClock(NOW).now() // SECOND + WARNING_SECONDS + 1
    for connection in ("a", "b"):
        push.connections.open(connection, caller(connection, expires_at=soon))
        push.connections.subscribe({"kitchen": None}, connection, caller(connection, expires_at=soon), soon)

    push.push(item("early"))
    push.clock.advance(2)
    push.push(item("in the last minutes"))
    push.connections.renew("a", soon + 3600)
    push.clock.advance(CHECK_SECONDS)
    push.push(item("renewed"))

    warned = {each: [json.loads(frame).get("tokenExpiring") for frame in push.api.sent[each]] for each in ("a", "b")}
    assert warned == {"a": [None, True, None], "b": [None, True, True]}


def test_only_the_row_of_a_closed_connection_is_deleted() -> None:
    """Fault 16."""
    push = PushWorld()
    push.listen("c-1", "c-2", "c-3")
    push.listen("c-2", room="hall")
    push.api.results = {"c-2": "gone"}

    push.push(item("one"))

    assert push.connections.subscriptions("kitchen") == [Subscription("c-1", "c-1"), Subscription("c-3", "c-3")]
    assert push.got("c-1") == push.got("c-3") == [["one"]]


@pytest.mark.parametrize("verdict", ["late", "refused", "unsent"])
def test_a_failed_push_is_reported_as_a_gap_in_the_next_frame(verdict: PushResult) -> None:
    push = PushWorld()
    push.listen("slow", "quick")
    push.api.results = {"slow": verdict}
    push.push(item("one"))
    push.api.results = {}

    push.push(item("two"))
    push.push(item("three"))

    assert push.got("slow") == [["missed", "two"], ["three"]]
    assert push.got("quick") == [["one"], ["two"], ["three"]]


def test_a_connection_that_times_out_repeatedly_rests_longer_each_time() -> None:
    """However many of its rooms have news in a batch."""
    push = PushWorld()
    for room in ("kitchen", "hall"):
        push.listen("slow", "quick", room=room)
    push.api.results = {"slow": "late"}

    asked = []
    for _ in range(600):
        before = push.api.asked.count("slow")
        push.push(item("one"), item("h", room="hall"))
        asked.append(push.api.asked.count("slow") - before)
        push.clock.advance(0.5)

    tried = [at * 0.5 for at, times in enumerate(asked) if times]
    pauses = [later - earlier for earlier, later in itertools.pairwise(tried)]
    assert pauses[:7] == [0.5, 0.5, FIRST_REST, 2 * FIRST_REST, 4 * FIRST_REST, 8 * FIRST_REST, 16 * FIRST_REST]
    assert max(pauses) == LONGEST_REST
    push.api.results = {}
    push.clock.advance(LONGEST_REST)
    push.push(item("two"))
    push.push(item("three"))
    assert push.got("slow") == [["missed", "two"], ["missed"], ["three"]]


def test_no_connection_rests_when_most_of_them_time_out() -> None:
    push = PushWorld()
    push.listen("c-1", "c-2", "c-3")
    push.api.results = {"c-1": "late", "c-2": "late"}
    for _ in range(5):
        push.push(item("one"))
    push.api.results = {}

    push.push(item("two"))

    assert push.got("c-1") == push.got("c-2") == [["missed", "two"]]


def test_deaf_connections_of_one_room_rest_while_other_rooms_are_served_in_time() -> None:
    """Most of the batch is late; still the environment is not slow."""
    push = PushWorld()
    deaf = [f"deaf-{number}" for number in range(9)]
    push.listen(*deaf, room="flood")
    push.listen("c-1", "c-2")
    push.api.results = dict.fromkeys(deaf, "late")
    for _ in range(TOLERATED + 1):
        push.push(item("x", room="flood"), item("one"))

    push.api.asked.clear()
    push.push(item("y", room="flood"), item("two"))

    assert push.api.asked == ["c-1", "c-2"]


def test_a_gap_in_a_room_that_is_quiet_now_is_reported_with_the_next_batch_of_any_room() -> None:
    push = PushWorld()
    push.listen("c-1", "c-2")
    push.listen("c-1", room="hall")
    push.api.results = {"c-1": "late"}
    push.push(item("one"))
    push.api.results = {}

    push.push(item("h", room="hall"))
    push.push(item("k"))

    assert push.got("c-1") == [["h"], ["missed"], ["k"]]
    assert json.loads(push.api.sent["c-1"][1])["roomId"] == "kitchen"
    assert push.got("c-2") == [["one"], ["k"]]


def test_a_subscriber_that_rests_gets_the_report_of_a_gap_afterwards() -> None:
    push = PushWorld()
    push.listen("slow")
    push.listen("quick", room="hall")
    push.api.results = {"slow": "late"}
    for text in ("one", "two", "three"):
        push.push(item(text))
    push.api.results = {}

    push.push(item("h", room="hall"))
    assert push.got("slow") == []
    push.clock.advance(FIRST_REST)
    push.push(item("i", room="hall"))

    assert push.got("slow") == [["missed"]]


def test_an_unreadable_copy_delays_no_other() -> None:
    push = PushWorld()
    push.listen("c-1")
    good = copies.frames("kitchen", [item("good")])[0]

    push.push_bodies(b"{", b"\xff", good, b'{"roomId":"kitchen","items":[{"key":1}]}')
    push.pusher.push({"rmqMessagesByQueue": {"live.0::/": [{"data": "%"}, {}]}})

    assert push.got("c-1") == [["good"]]


def test_an_unavailable_table_raises_no_exception() -> None:
    class Away(MemoryConnections):
        def subscriptions(self, room_id: str, mark: str = "") -> list[Subscription]:
            if room_id == "kitchen":
                raise StoreUnavailable("down")
            return super().subscriptions(room_id)

    push = PushWorld()
    push.connections = Away(push.clock)
    push.pusher = PushService(push.connections, push.api)
    push.listen("c-1", room="hall")

    push.push(item("one"), item("h", room="hall"))

    assert push.got("c-1") == [["h"]]


def test_after_an_unread_room_the_next_frame_says_missed() -> None:
    class Flaky(MemoryConnections):
        failures = 1

        def subscriptions(self, room_id: str, mark: str = "") -> list[Subscription]:
            self.failures -= 1
            if self.failures >= 0:
                raise StoreUnavailable("down")
            return super().subscriptions(room_id)

    push = PushWorld()
    push.connections = Flaky(push.clock)
    push.pusher = PushService(push.connections, push.api)
    push.listen("c-1")

    for text in ("lost", "next", "last"):
        push.push(item(text))

    assert push.got("c-1") == [["missed", "next"], ["last"]]


def test_an_unexpected_error_returns_no_message_to_the_queue() -> None:
    class Broken(MemoryPusher):
        def deliver(self, sends: Any, seconds: float) -> list[PushResult]:
            raise KeyError("what alice wrote")

    push = PushWorld()
    push.listen("c-1")

    PushService(push.connections, Broken()).push({"rmqMessagesByQueue": {}})
    push.pusher = PushService(push.connections, Broken())
    push.push(item("one"))
