"""Frames that check followed rooms: what they find, and whom they subscribe."""

from __future__ import annotations

import pytest

from headrace.api.rates.rate_limiter import RateLimiter
from headrace.live.connections import Subscription
from headrace.runtime.settings import RateSettings
from headrace.streams.chat.live.subscriptions import ROOMS_PER_CHECK
from headrace.streams.chat.messages.positions import position
from tests.worlds.frame_stage import Stage
from tests.worlds.room_world import GROUP, OPEN
from tests.worlds.senders import CLOCK


@pytest.fixture
def stage() -> Stage:
    return Stage()


def test_a_check_says_which_rooms_have_new_messages(stage: Stage) -> None:
    since = stage.request("subscribe", roomId="kitchen")["position"]
    stage.store_message("hall", "long known", timestamp="2025-11-21T09:00:00Z")
    rooms = {"kitchen": since, "hall": since, "not yet there": since}

    quiet = stage.request("check", rooms=rooms)
    assert quiet["type"] == "checked"
    assert quiet["rooms"] == {room: {"hasNew": False, "position": position(CLOCK.now())} for room in rooms}

    stage.store_message("kitchen", "new")
    stage.store_message("hall", "late", timestamp="2025-11-21T08:00:00Z", late=True)
    found = stage.request("check", rooms=rooms)["rooms"]
    assert {room: each["hasNew"] for room, each in found.items()} == {
        "kitchen": True,
        "hall": True,
        "not yet there": False,
    }


def test_a_check_subscribes_to_a_room_whose_subscription_has_ended(stage: Stage) -> None:
    stage.world.ok("bob", "PUT", "kitchen", OPEN)
    since = stage.request("subscribe", roomId="kitchen")["position"]
    stage.connections.unsubscribe("kitchen", ["c-1"])

    stage.request("check", rooms={"kitchen": since})
    assert stage.listening("kitchen") == [Subscription("c-1", "alice")]
    subscribed = stage.connections.rows["kitchen", "c-1"]
    stage.request("check", rooms={"kitchen": since})
    assert stage.connections.rows["kitchen", "c-1"] is subscribed


def test_a_check_follows_no_room_that_does_not_exist(stage: Stage) -> None:
    """Its rows would cost more than the read that it counts for. The first check after the room's creation follows."""
    since = position(CLOCK.now())

    assert stage.request("check", rooms={"kitchen": since})["rooms"]["kitchen"] == {"hasNew": False, "position": since}
    assert stage.listening("kitchen") == []
    stage.world.ok("bob", "PUT", "kitchen", OPEN)
    stage.request("check", rooms={"kitchen": since})
    assert stage.listening("kitchen") == [Subscription("c-1", "alice")]


def test_each_room_of_a_check_counts_as_a_read(stage: Stage) -> None:
    """The router counts the frame, so the first room is paid for."""
    stage.frames = stage.environment(stage.world.access, RateLimiter(RateSettings(request_rate=2), None, lambda: 1000))
    since = position(CLOCK.now())

    found = stage.request("check", rooms={f"r-{number}": since for number in range(ROOMS_PER_CHECK)})["rooms"]

    errors = [each.get("error", {}) for each in found.values()]
    assert [each.get("code") for each in errors] == [None] * 11 + ["rate_limited"] * 9
    assert errors[-1]["retryAfter"] >= 1


def test_p12_a_check_names_the_error_of_a_room_beside_the_others(stage: Stage) -> None:
    stage.world.ok("alice", "PUT", "den", GROUP)
    since = position(CLOCK.now())

    rooms = stage.request("check", "mallory", rooms={"den": since, "kitchen": since})["rooms"]

    assert rooms["den"]["error"]["code"] == "forbidden"
    assert rooms["kitchen"]["hasNew"] is False
    assert stage.listening("den") == []


@pytest.mark.parametrize(
    ("rooms", "field"),
    [
        ({}, "rooms"),
        ({f"r{number}": "p1763719258722861" for number in range(ROOMS_PER_CHECK + 1)}, "rooms"),
        ({"kitchen": "yesterday"}, "rooms.kitchen"),
        ({"kitchen": None}, "rooms.kitchen"),
        (["kitchen"], "rooms"),
        (None, "rooms"),
    ],
)
def test_a_wrong_check_is_refused_with_its_field(stage: Stage, rooms: object, field: str) -> None:
    error = stage.request("check", rooms=rooms)["error"]

    assert (error["code"], error["details"][0]["field"]) == ("invalid_request", field)
    assert error["details"][0].get("allowed")
