"""P3: a click that is taken back is in no answer, whenever it comes or is sent again."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.core import keys, times
from headrace.core.caller import SenderContext
from headrace.core.stream import TableSettings
from headrace.streams.ads import routes
from headrace.streams.ads.stream import ADS, TAKEN_BACK_CLICKS
from tests.worlds.ads_world import CLICKS, SETTLE, START, USER, AdsWorld, click

NOW = times.parse_iso(START)
EARLIER = times.iso(NOW - times.HOUR)
WINDOW = {"from": times.iso(NOW - 2 * times.HOUR), "to": times.iso(NOW + times.SECOND)}


def old(name: str, **fields: Any) -> dict[str, Any]:
    return click(clickId=name, clickedAt=EARLIER, **fields)


def stored(*names: str) -> AdsWorld:
    world = AdsWorld()
    world.store_all(*(old(name, userId=name) for name in names))
    world.clock.advance(SETTLE + 2)
    return world


def taken_back(world: AdsWorld, *clicks: dict[str, Any], **more: str) -> None:
    assert world.take_back(*clicks, **more)[0] == 202
    world.deliver(*world.accepted())


def clicks_and_users(world: AdsWorld, *, fresh: bool = False) -> tuple[int, int]:
    router = world.reader() if fresh else world.router
    status, found = world.request(routes.stats, {**WINDOW, "step": "3600"}, adId="ad-1", router=router)
    _, top = world.request(routes.top, {**WINDOW, "top": "5"}, router=router)
    if status == 404:
        assert top["topAds"] == []
        return 0, 0
    assert top["topAds"] == [{"adId": "ad-1", "clicks": found["clicks"]}]
    assert sum(point["clicks"] for point in found["points"]) == found["clicks"]
    return found["clicks"], found["uniqueUsers"]


def test_cached_counts_pages_and_top_ads_follow_at_once() -> None:
    world = stored("ann", "bob", "carol")
    other = world.reader()
    assert clicks_and_users(world) == clicks_and_users(world, fresh=True) == (3, 3)
    reads = world.request(routes.stats, {**WINDOW, "step": "3600"}, adId="ad-1", router=other)[1]

    taken_back(world, old("bob", userId="bob"))

    assert reads["clicks"] == 3
    for router in (world.router, other):
        assert world.request(routes.stats, {**WINDOW, "step": "3600"}, adId="ad-1", router=router)[1]["clicks"] == 2
    assert clicks_and_users(world, fresh=True) == (2, 2)
    (page,) = world.walk(routes.ad_clicks, {}, adId="ad-1")
    assert [item["clickId"] for item in page["items"]] == ["carol", "ann"]
    assert world.request(routes.user_clicks, userId="bob")[1]["items"] == []
    taken_back(world, old("ann"), old("carol"))
    assert clicks_and_users(world) == (0, 0)


def test_while_the_cache_is_away_the_retry_lane_keeps_what_must_be_marked() -> None:
    world = stored("ann", "bob")
    assert clicks_and_users(world) == (2, 2)
    world.cache.down = True
    taken_back(world, old("bob"))
    assert not world.retry_all()

    world.cache.down = False
    assert world.retry_all()

    assert clicks_and_users(world) == clicks_and_users(world, fresh=True) == (1, 1)


def test_a_click_that_comes_after_it_was_taken_back_is_not_stored() -> None:
    world = AdsWorld()
    taken_back(world, old("ann"))

    for _ in range(2):
        world.store_all(old("ann"), old("ann", adId="ad-2"))

    assert world.rows() == []
    assert clicks_and_users(world) == (0, 0)


@pytest.mark.parametrize("order", [1, -1])
def test_one_batch_may_hold_a_click_and_what_takes_it_back(order: int) -> None:
    world = AdsWorld()
    world.post(old("ann"))
    world.take_back(old("ann"))

    world.deliver(*world.accepted()[::order])

    assert world.rows() == []


def test_taking_a_click_back_needs_no_second_pass() -> None:
    world = stored("ann")

    taken_back(world, old("ann"), old("bob"))

    assert world.retry.records == []


def test_while_the_table_is_away_nothing_is_lost() -> None:
    world = stored("ann")
    world.store.down = True
    taken_back(world, old("ann"))
    assert not world.retry_all()
    world.store.down = False

    world.retry_all()

    assert world.rows() == []


def test_only_who_sent_a_click_takes_it_back() -> None:
    world = stored("ann")

    taken_back(world, old("ann"), subject="other")

    assert clicks_and_users(world) == (1, 1)


def test_a_user_takes_back_a_click_of_any_age_and_in_no_other_name() -> None:
    world = AdsWorld()
    own = {"adId": "ad-1", "adType": "banner", "clickedAt": START}
    world.store_all(own, scope=USER, subject="ann")
    world.clock.advance(3 * 86400)

    status, body = world.take_back({**own, "userId": "bob"}, subject="ann", scope=USER)
    assert (status, body["results"][0]["error"]["details"][0]["field"]) == (400, "userId")
    taken_back(world, own, subject="ann", scope=USER)

    assert world.rows() == []


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"adId": "ad 1"}, "adId"),
        ({"clickedAt": "soon"}, "clickedAt"),
        ({"price": 3}, "price"),
        ({"userId": 3}, "userId"),
    ],
)
def test_a_wrong_field_is_named_and_the_others_are_taken_back(fields: dict[str, Any], field: str) -> None:
    world = stored("ann")

    status, body = world.take_back(old("ann"), {**old("bob"), **fields})

    assert (status, body["results"][0]["lane"]) == (202, "main")
    assert body["results"][1]["error"]["details"][0]["field"] == field


def test_a_stub_has_neither_user_nor_ad_and_is_kept_as_long_as_a_click() -> None:
    world = stored("ann")
    taken_back(world, old("ann"))

    (row,) = world.store.rows(CLICKS.table)

    tag = keys.sender_tag("ad-server")
    assert row.pop("expiresAt") == (world.clock.now() + 31 * times.DAY) // times.SECOND
    assert row == {
        "clickId": "ann",
        "sender": tag,
        "takenBack": True,
        "takenFrom": keys.timestamp_sk(EARLIER, "ann", tag),
    }


def test_without_a_retention_a_stub_never_expires() -> None:
    event = TAKEN_BACK_CLICKS.accept(old("ann"), SenderContext("ad-server", "ad-server", True, NOW)).event

    assert "expiresAt" not in ADS.item(event, NOW, TableSettings(table="AdClicks"))
    assert event.keys() == {"i", "b"}
