"""Frames that check and resume followed rooms: what they find, and whom they subscribe."""

from __future__ import annotations

import json
from typing import Any

import pytest

from headrace.api import responses
from headrace.api.rates.rate_limiter import RateLimiter
from headrace.live.connections import Subscription
from headrace.runtime.settings import RateSettings
from headrace.streams.chat.live.check_frames import ROOMS_PER_FRAME
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


def test_a_check_can_ask_without_subscribing(stage: Stage) -> None:
    stage.world.ok("bob", "PUT", "kitchen", OPEN)
    stage.request("subscribe", roomId="hall")
    rooms = dict.fromkeys(
        ("kitchen", "hall"), stage.request("subscribe", connection="c-2", roomId="kitchen")["position"]
    )
    stage.request("unsubscribe", connection="c-2", roomId="kitchen")
    stage.store_message("kitchen", "new")

    found = stage.request("check", rooms=rooms, subscribe=False)["rooms"]

    assert [found[room]["hasNew"] for room in rooms] == [True, False]
    assert stage.listening("kitchen") == []
    assert stage.listening("hall") == [Subscription("c-1", "alice")]


def test_p12_a_check_that_only_asks_says_nothing_of_a_room_that_the_caller_has_left(stage: Stage) -> None:
    stage.world.ok("alice", "PUT", "den", GROUP)
    stage.world.ok("alice", "DELETE", "den/members/alice")

    answer = stage.request("check", rooms={"den": position(CLOCK.now())}, subscribe=False)["rooms"]["den"]

    assert answer["error"]["code"] == "forbidden"


def test_each_room_of_a_check_counts_as_a_read(stage: Stage) -> None:
    """The router counts the frame, so the first room is paid for."""
    stage.frames = stage.environment(stage.world.access, RateLimiter(RateSettings(request_rate=2), None, lambda: 1000))
    since = position(CLOCK.now())

    found = stage.request("check", rooms={f"r-{number}": since for number in range(ROOMS_PER_FRAME)})["rooms"]

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


def test_a_check_reads_the_table_only_of_rooms_whose_logs_do_not_know_the_position(stage: Stage) -> None:
    stage.world.ok("bob", "PUT", "kitchen", OPEN)
    since = stage.request("subscribe", roomId="kitchen")["position"]

    def check(at: str) -> tuple[bool, str, int]:
        stage.reader.queries.clear()
        found = stage.request("check", rooms={"kitchen": at})["rooms"]["kitchen"]
        return found["hasNew"], found["position"], len([each for each in stage.reader.queries if each.index is None])

    assert check(since) == (False, since, 0)
    stage.store_message("kitchen", "new")
    has_new, newer, reads = check(since)
    assert (has_new, newer != since, reads) == (True, True, 0)
    assert check(newer) == (False, newer, 0)
    assert check(since.partition("-")[0]) == (True, newer, 1)
    stage.cache.down = True
    assert check(newer) == (True, newer.partition("-")[0], 1)


def texts(found: dict[str, Any]) -> list[str]:
    return [item["message"] for item in found["items"]]


def test_a_long_gap_is_resumed_in_steps(stage: Stage) -> None:
    """The first room that does not fit ends the items of the frame."""
    for name in ("kitchen", "hall"):
        stage.world.ok("bob", "PUT", name, OPEN)
    at = {name: stage.request("subscribe", roomId=name)["position"] for name in ("kitchen", "hall")}
    sent = {name: {f"{number}" + "x" * 4000 for number in range(40)} for name in at}
    for name, said in sent.items():
        for number, text in enumerate(said):
            stage.store_message(name, text, messageId=f"m-{number}")

    seen: dict[str, list[str]] = {name: [] for name in at}
    frames = 0
    while at:
        answer = stage.request("resume", rooms=at)["rooms"]
        assert len(json.dumps(answer)) < responses.FRAME_BYTES
        for name, found in answer.items():
            seen[name] += texts(found)
        at = {name: found["position"] for name, found in answer.items() if found["hasMore"]}
        frames += 1

    assert {name: sorted(found) for name, found in seen.items()} == {name: sorted(said) for name, said in sent.items()}
    assert frames == 3


def test_a_position_that_no_log_knows_is_resumed_from_the_table(stage: Stage) -> None:
    """The rest comes with the frame `history`."""
    stage.world.ok("bob", "PUT", "kitchen", OPEN)
    since = stage.request("subscribe", roomId="kitchen")["position"]
    for number in range(50):
        stage.store_message("kitchen", f"{number}" + "x" * 4000, messageId=f"m-{number}")
    stage.cache.clear()

    found = stage.request("resume", rooms={"kitchen": since})["rooms"]["kitchen"]
    rest = stage.request("history", roomId="kitchen", since=since, before=found["next"], limit=200)

    assert (found["hasMore"], rest["hasMore"]) == (True, False)
    assert len({item["key"] for item in found["items"] + rest["items"]}) == 50
    newest = stage.request("resume", rooms={"kitchen": found["position"]})["rooms"]["kitchen"]
    assert newest["items"] == []


def test_p12_a_member_resumes_with_the_messages_since_the_join(stage: Stage) -> None:
    stage.world.ok("alice", "PUT", "den", GROUP)
    since = stage.request("subscribe", roomId="den")["position"]
    stage.store_message("den", "before bob", messageId="m-1", timestamp="2025-11-21T09:00:00Z")
    joined = stage.world.bring("alice", "den", "bob")["joinedAt"]
    stage.store_message("den", "after", messageId="m-2", timestamp=joined)

    found = stage.request("resume", "bob", rooms={"den": since}, connection="c-2")["rooms"]
    others = stage.request("resume", "mallory", rooms={"den": since}, connection="c-3")["rooms"]

    assert texts(found["den"]) == ["after"]
    assert others["den"]["error"]["code"] == "forbidden"
    assert {each.connection_id for each in stage.listening("den")} == {"c-1", "c-2"}


def test_a_room_that_does_not_exist_yet_is_resumed(stage: Stage) -> None:
    since = stage.request("subscribe", roomId="new")["position"]

    found = stage.request("resume", rooms={"new": since}, connection="c-2")["rooms"]["new"]
    old = stage.request("resume", rooms={"other": position(CLOCK.now())})["rooms"]["other"]

    assert (found["items"], found["position"], old["items"]) == ([], since, [])
    assert len(stage.listening("new")) == 2


@pytest.mark.parametrize(
    ("rooms", "field"),
    [
        ({}, "rooms"),
        ({f"r{number}": "p1763719258722861" for number in range(ROOMS_PER_FRAME + 1)}, "rooms"),
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
