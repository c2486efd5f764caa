"""The answers of read_ads: their shapes, who may ask, and the errors of invalid queries."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.core import times
from headrace.core.times import parse_iso
from headrace.features.ads import routes
from tests.worlds.ads_world import SETTLE, START, USER, AdsWorld, click

NOW = parse_iso(START)
WINDOW = {"from": "2025-11-21T09:58:00Z", "to": "2025-11-21T10:01:00Z"}


def at(seconds: float) -> str:
    return times.iso(NOW + round(seconds * times.SECOND))


@pytest.fixture
def world() -> AdsWorld:
    made = AdsWorld()
    made.store_all(
        click(clickedAt=at(-60), clickId="c-1"),
        click(clickedAt=at(-59), clickId="c-2", userId="bob", adType="video"),
        click(clickedAt=at(-58), clickId="c-3"),
        click(clickedAt=at(0), clickId="c-4"),
        click(clickedAt=at(0), clickId="c-5", adId="ad-2", userId="bob"),
    )
    made.clock.advance(SETTLE + 1)
    return made


def test_the_history_of_an_ad_is_newest_first_without_addresses(world: AdsWorld) -> None:
    status, body = world.request(routes.ad_clicks, {"limit": "2"}, adId="ad-1")

    assert (status, body["hasMore"]) == (200, True)
    assert [item["clickId"] for item in body["items"]] == ["c-4", "c-3"]
    item = body["items"][0]
    assert item.pop("key").startswith(f"{START}#c-4#")
    assert item == {"clickId": "c-4", "clickedAt": START, "adId": "ad-1", "userId": "ann", "adType": "banner"}


def test_a_page_lies_between_its_bounds(world: AdsWorld) -> None:
    _, body = world.request(routes.ad_clicks, {"from": at(-59), "to": at(0)}, adId="ad-1")

    assert [item["clickId"] for item in body["items"]] == ["c-3", "c-2"]


def test_a_cursor_is_valid_only_for_its_ad_and_caller(world: AdsWorld) -> None:
    """P12."""
    cursor = world.request(routes.ad_clicks, {"limit": "1"}, adId="ad-1")[1]["next"]

    assert world.request(routes.ad_clicks, {"before": cursor}, adId="ad-1")[0] == 200
    for wrong in ({"adId": "ad-2"}, {"adId": "ad-1", "subject": "other"}):
        assert world.request(routes.ad_clicks, {"before": cursor}, **wrong)[0] == 400  # type: ignore[arg-type]
    assert world.request(routes.user_clicks, {"before": cursor}, userId="ad-1")[0] == 400


def test_a_user_reads_their_own_clicks_and_analysts_read_all(world: AdsWorld) -> None:
    """P12."""
    own = world.request(routes.user_clicks, userId="bob", scope=USER, subject="bob")
    theirs = world.request(routes.user_clicks, userId="bob")

    assert [item["clickId"] for item in own[1]["items"]] == ["c-5", "c-2"]
    assert theirs[1]["items"] == own[1]["items"]
    assert world.request(routes.user_clicks, userId="ann", scope=USER, subject="bob")[0] == 403


def test_stats_count_by_type_and_user_in_every_step_empty_ones_too(world: AdsWorld) -> None:
    status, body = world.request(routes.stats, {**WINDOW, "step": "60"}, adId="ad-1")

    assert (status, body["clicks"], body["uniqueUsers"]) == (200, 4, 2)
    assert body["types"] == {"banner": 3, "video": 1}
    assert (body["window"]["adId"], body["step"], body["accuracy"]) == ("ad-1", 60, {"exact": True})
    assert body["points"] == [
        {"from": "2025-11-21T09:58:00.000000Z", "clicks": 0, "uniqueUsers": 0, "types": {}},
        {"from": "2025-11-21T09:59:00.000000Z", "clicks": 3, "uniqueUsers": 2, "types": {"banner": 2, "video": 1}},
        {"from": "2025-11-21T10:00:00.000000Z", "clicks": 1, "uniqueUsers": 1, "types": {"banner": 1}},
    ]


@pytest.mark.parametrize(
    ("route", "query", "fields"),
    [
        (routes.stats, {**WINDOW, "step": "61"}, ["step"]),
        (routes.stats, {**WINDOW, "from": "2025-11-01T00:00:00Z", "step": "60"}, ["step"]),
        (routes.top, {"from": WINDOW["to"], "to": WINDOW["from"]}, ["to"]),
    ],
)
def test_an_invalid_query_names_its_parameters(
    world: AdsWorld, route: Any, query: dict[str, str], fields: list[str]
) -> None:
    status, body = world.request(route, query, adId="ad-1", userId="ann")

    assert (status, [detail["field"] for detail in body["error"]["details"]]) == (400, fields)
    assert all(detail["allowed"] for detail in body["error"]["details"])


def test_clicks_that_have_expired_are_in_no_answer(world: AdsWorld) -> None:
    world.clock.advance(40 * 86400)

    assert world.request(routes.ad_clicks, adId="ad-1")[1]["items"] == []
    assert world.request(routes.top, WINDOW)[1]["clicks"] == 0
