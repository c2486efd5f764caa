"""P12: who follows a room now is shown to those who may read it, with the time of the last check."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.core.times import iso
from headrace.features.online import routes as online
from tests.worlds.frame_stage import Stage
from tests.worlds.whole_room_world import WholeRoomWorld


@pytest.fixture
def stage() -> Stage:
    stage = Stage(WholeRoomWorld())
    stage.world.add_rooms()
    return stage


def shown(stage: Stage, user: str = "alice", room: str = "kitchen") -> list[dict[str, Any]]:
    answer = stage.world.ok(user, "GET", f"{room}/online")
    assert (answer["hasMore"], answer["missing"]) == (False, [])
    items: list[dict[str, Any]] = answer["items"]
    return items


def test_users_who_follow_a_room_are_listed_with_the_newest_check_of_their_connections(stage: Stage) -> None:
    stage.request("subscribe", "bob", connection="c-1", roomId="kitchen")
    stage.request("subscribe", "bob", connection="c-2", roomId="kitchen")
    stage.request("subscribe", "alice", connection="c-3", roomId="kitchen")
    stage.request("subscribe", "alice", connection="c-3", roomId="hall")
    position = stage.request("subscribe", "bob", connection="c-2", roomId="kitchen")["position"]
    assert shown(stage) == [{"userId": "alice", "connections": 1}, {"userId": "bob", "connections": 2}]

    stage.world.clock.advance(60)
    stage.request("check", "bob", connection="c-1", rooms={"kitchen": position})
    stage.world.clock.advance(60)
    stage.request("resume", "bob", connection="c-2", rooms={"kitchen": position})

    at = iso(stage.world.clock.now())
    assert shown(stage)[1] == {"userId": "bob", "connections": 2, "checkedAt": at}
    assert shown(stage, "carol", "hall") == [{"userId": "alice", "connections": 1}]


def test_who_may_not_read_a_room_now_does_not_see_who_is_there(stage: Stage) -> None:
    world = stage.world
    stage.request("subscribe", "bob", roomId="kitchen")
    assert world.refused("carol", "GET", "kitchen/online") == (403, "forbidden")
    assert world.refused("carol", "GET", "cellar/online") == (404, "not_found")
    assert world.refused("alice", "GET", "kitchen/online", scopes="chat:write") == (403, "forbidden")

    world.clock.advance(1)
    world.ok("bob", "DELETE", "kitchen/members/bob")

    assert world.refused("bob", "GET", "kitchen/online") == (403, "forbidden")
    assert shown(stage) == []


def test_without_the_cache_the_times_of_checks_are_named_as_missing(stage: Stage) -> None:
    position = stage.request("subscribe", "bob", roomId="kitchen")["position"]
    stage.cache.down = True
    assert "kitchen" in stage.request("check", "bob", rooms={"kitchen": position})["rooms"]

    answer = stage.world.ok("alice", "GET", "kitchen/online")

    assert answer == {"items": [{"userId": "bob", "connections": 1}], "hasMore": False, "missing": ["checkedAt"]}


def test_a_room_with_too_many_followers_says_that_there_are_more(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(online, "SUBSCRIPTIONS", 2)
    for number in range(3):
        stage.request("subscribe", "bob", connection=f"c-{number}", roomId="kitchen")

    answer = stage.world.ok("alice", "GET", "kitchen/online")

    assert (answer["items"], answer["hasMore"]) == ([{"userId": "bob", "connections": 2}], True)
