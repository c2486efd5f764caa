"""P3: a click that is taken back is in no answer, whenever it comes or is sent again."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.core import times
from headrace.core.sender import SenderContext
from headrace.core.stream import TableSettings
from headrace.features.ads.accepting import TAKEN_BACK_CLICKS
from headrace.features.ads.stream import ADS
from tests.worlds.ads_world import SETTLE, START, USER, AdsWorld, click

NOW = times.parse_iso(START)
EARLIER = times.iso(NOW - times.HOUR)


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


def test_a_user_takes_back_a_click_of_any_age_and_in_no_other_name() -> None:
    world = AdsWorld()
    own = {"adId": "ad-1", "adType": "banner", "clickedAt": START}
    world.store_all(own, scope=USER, subject="ann")
    world.clock.advance(3 * 86400)

    status, body = world.take_back({**own, "userId": "bob"}, subject="ann", scope=USER)
    assert (status, body["results"][0]["error"]["details"][0]["field"]) == (400, "userId")
    taken_back(world, own, subject="ann", scope=USER)

    assert world.rows() == []


def test_without_a_retention_a_stub_never_expires() -> None:
    event = TAKEN_BACK_CLICKS.accept(old("ann"), SenderContext("ad-server", "ad-server", True, NOW)).event

    assert "expiresAt" not in ADS.item(event, NOW, TableSettings(table="AdClicks"))
    assert event.keys() == {"i", "b"}
