"""The routes of ad clicks: the clicks of an ad and of a user, an ad's counts by step, and the top ads.

Pages of clicks have the cursors and parameters of chat's history. They are read from indexes, which may lag behind the
table by milliseconds.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from pydantic import Field
from typing_extensions import TypedDict

from headrace.api.paging.cursors import CursorSigner
from headrace.api.paging.pager import Page, plain_page
from headrace.api.paging.request import PageRequest
from headrace.api.params import Params, UserPath
from headrace.api.router import Request
from headrace.core import times
from headrace.core.caller import ANALYTICS_READ
from headrace.core.errors import FieldError, InvalidRequest, NotFound, echo
from headrace.core.fields import CanonicalTime, Cursor, Key
from headrace.core.keys import SEPARATOR
from headrace.core.stream import Index
from headrace.features.ads.stream import AD_ID_FORM, AD_INDEX, ADS, USER_INDEX, AdId, item_of
from headrace.features.analytics import responses
from headrace.features.analytics.aggregate import Aggregate
from headrace.features.analytics.reading import analytics_of
from headrace.features.analytics.requests import StepQuery, TopQuery
from headrace.features.analytics.responses import Accuracy, Answer
from headrace.features.analytics.windows import Analytics, deadline
from headrace.runtime.settings import table_settings
from headrace.services.requests import cursors
from headrace.services.shared import range_reader
from headrace.storage.merged_reader import MergedReader
from headrace.storage.reading import RangeQuery, RangeReader

POINTS_LIMIT = 1500
"""Steps in one answer: 25 hours of minutes, 31 days of hours."""
TYPES_LIMIT = 50
"""Types that one step lists. If there are more, those with the fewest clicks are left out."""
NO_PART = "-"
"""The id or sender of a position between clicks, because no key attribute may be empty."""


class AdPath(Params):
    """An ad."""

    refusal = "{field} is not a usable id"

    ad_id: AdId = Field(description=AD_ID_FORM)


class Click(TypedDict):
    """A click; ``key`` is its place in the history."""

    key: Key
    clickId: str
    clickedAt: CanonicalTime
    adId: str
    userId: str
    adType: str


class ClickPage(TypedDict):
    """A page of clicks, newest first."""

    items: list[Click]
    next: Cursor | None
    previous: Cursor | None
    hasMore: bool


StatsPoint = TypedDict(
    "StatsPoint", {"from": CanonicalTime, "clicks": int, "uniqueUsers": int, "types": dict[str, int]}
)


class Totals(Answer, TypedDict):
    """Clicks by type and unique users of a window."""

    clicks: int
    uniqueUsers: int
    types: dict[str, int]
    accuracy: Accuracy


class StatsAnswer(Totals):
    """An ad's clicks by type and its unique users, of the window and of each step of it."""

    step: int
    points: list[StatsPoint]


class TopAd(TypedDict):
    """An ad and its clicks."""

    adId: str
    clicks: int


class TopAnswer(Totals):
    """The ads with the most clicks in a window, and the totals of all ads."""

    topAds: list[TopAd]


@dataclass(frozen=True, slots=True)
class AdsServices:
    """What the routes use: ``reader``, ``cursors`` and ``table`` for pages of clicks, ``analytics`` for counts."""

    reader: RangeReader
    cursors: CursorSigner
    table: str
    analytics: Analytics


@functools.cache
def ads_services() -> AdsServices:
    return AdsServices(range_reader(), cursors(), table_settings(ADS).table, analytics_of(ADS))


def ad_clicks(services: AdsServices, request: Request[AdPath, PageRequest, None]) -> dict[str, Any]:
    """Read a page of the clicks on an ad."""
    page = _page(services, request, AD_INDEX, request.path.ad_id)
    if not page.items:
        _require_ad(services, request.path.ad_id)
    return page.to_body()


def user_clicks(services: AdsServices, request: Request[UserPath, PageRequest, None]) -> dict[str, Any]:
    """Read a page of a user's clicks. Those of other users need ``analytics:read``."""
    if request.path.user_id != request.caller.subject:
        request.caller.require(ANALYTICS_READ, now=request.now)
    return _page(services, request, USER_INDEX, request.path.user_id).to_body()


def stats(services: AdsServices, request: Request[AdPath, StepQuery, None]) -> dict[str, Any]:
    """Get an ad's clicks by type and its unique users, for a window and for each step of it."""
    asked = request.query.of(services.analytics.stream, ("adId", request.path.ad_id))
    step = asked.step * times.SECOND
    if -(-asked.window.end // step) - asked.window.start // step > POINTS_LIMIT:
        allowed = f"a step that makes at most {POINTS_LIMIT} of the window"
        detail = FieldError("step", "makes too many steps", asked.step, allowed)
        raise InvalidRequest("step makes too many steps of the window", details=[detail])
    frame, whole, points = services.analytics.steps(asked, deadline(request), _totals)
    if not whole.total:
        _require_ad(services, request.path.ad_id)
    listed = [{"from": times.iso(start), **counts} for start, counts in points]
    accuracy = responses.accuracy(asked, whole)
    return {**frame, "step": asked.step, **_totals(whole), "points": listed, "accuracy": accuracy}


def top(services: AdsServices, request: Request[None, TopQuery, None]) -> dict[str, Any]:
    """Get the ads with the most clicks in a window, and the totals of all ads."""
    asked = request.query.of(services.analytics.stream)
    frame, found = services.analytics.whole(asked, deadline(request))
    # Ads with equal numbers are in the order of their ids.
    ads = found.tallies[asked.scope.attributes.index("adId")].top(asked.top)
    top = [{"adId": ad_id, "clicks": clicks} for ad_id, clicks in ads]
    return {**frame, **_totals(found), "topAds": top, "accuracy": responses.accuracy(asked, found)}


def _totals(found: Aggregate) -> dict[str, Any]:
    users, types, _ = found.tallies
    return {"clicks": found.total, "uniqueUsers": users.unique(), "types": dict(types.top(TYPES_LIMIT))}


def _page(services: AdsServices, request: Request[Any, PageRequest, None], index: Index, value: str) -> Page:
    """A page of the clicks of one ad or user, by time and then by id, newest first. Expired clicks are never shown."""
    reader, rows = _partition(services, index, value)
    return plain_page(request, request.query, services.cursors, f"clicks.{index.name}", reader, rows, item_of)


def _require_ad(services: AdsServices, ad_id: str) -> None:
    """Raise NotFound if an ad has no click."""
    reader, rows = _partition(services, AD_INDEX, ad_id)
    if not reader.read(replace(rows, limit=1)).items:
        detail = FieldError("adId", "is not the id of an ad", echo(ad_id), "an ad with a click")
        raise NotFound("there is no such ad", details=[detail])


def _partition(services: AdsServices, index: Index, value: str) -> tuple[RangeReader, RangeQuery]:
    rows = RangeQuery(services.table, index.partition_key, value, index.sort_key, index=index.name)
    return MergedReader(services.reader, index.partitions, start_key), rows


def start_key(position: str) -> Mapping[str, str]:
    """The key attributes of a click at ``position``, a ``timestampSk`` or a position between two of them."""
    _, click_id, sender = [*position.split(SEPARATOR), "", ""][:3]
    return {"timestampSk": position, "clickId": click_id or NO_PART, "sender": sender or NO_PART}
