"""The routes of ad clicks: the clicks of an ad and of a user, an ad's counts by step, and the top ads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic import Field
from typing_extensions import TypedDict

from headrace.analytics import responses
from headrace.analytics.aggregate import Aggregate
from headrace.analytics.requests import StepQuery, TopQuery, WindowRequest
from headrace.analytics.responses import Accuracy, Answer
from headrace.analytics.routes import deadline
from headrace.analytics.scanner import Deadline
from headrace.analytics.windows import Analytics
from headrace.api.paging.request import PageRequest
from headrace.api.params import Params, UserPath
from headrace.api.router import Request
from headrace.core import times
from headrace.core.errors import FieldError, InvalidRequest
from headrace.streams.ads.history import ClickHistory
from headrace.streams.ads.stream import AD_ID_FORM, ADS, AdId

POINTS_LIMIT = 1500
"""Steps in one answer: 25 hours of minutes, 31 days of hours."""
TYPES_LIMIT = 50
"""Types that one step lists. If there are more, those with the fewest clicks are left out."""


class AdPath(Params):
    """An ad."""

    refusal = "{field} is not a usable id"

    ad_id: AdId = Field(description=AD_ID_FORM)


class Click(TypedDict):
    """A click; ``key`` is its place in the history."""

    key: str
    clickId: str
    clickedAt: str
    adId: str
    userId: str
    adType: str


class ClickPage(TypedDict):
    """A page of clicks, newest first."""

    items: list[Click]
    next: str | None
    previous: str | None
    hasMore: bool


StatsPoint = TypedDict("StatsPoint", {"from": str, "clicks": int, "uniqueUsers": int, "types": dict[str, int]})


class StatsAnswer(Answer, TypedDict):
    """An ad's clicks by type and its unique users, of the window and of each step of it."""

    step: int
    clicks: int
    uniqueUsers: int
    types: dict[str, int]
    points: list[StatsPoint]
    accuracy: Accuracy


class TopAd(TypedDict):
    """An ad and its clicks."""

    adId: str
    clicks: int


class TopAnswer(Answer, TypedDict):
    """The ads with the most clicks in a window, and the totals of all ads."""

    clicks: int
    uniqueUsers: int
    types: dict[str, int]
    topAds: list[TopAd]
    accuracy: Accuracy


@dataclass(frozen=True, slots=True)
class AdsServices:
    """The services of the routes: ``history`` for pages, ``analytics`` for counts."""

    history: ClickHistory
    analytics: Analytics


def ad_clicks(services: AdsServices, request: Request[AdPath, PageRequest, None]) -> dict[str, Any]:
    """Read a page of the clicks on an ad."""
    return services.history.ad(request.caller, request.path.ad_id, request.query).to_body()


def user_clicks(services: AdsServices, request: Request[UserPath, PageRequest, None]) -> dict[str, Any]:
    """Read a page of a user's clicks. Those of other users need ``analytics:read``."""
    return services.history.user(request.caller, request.path.user_id, request.query).to_body()


def stats(services: AdsServices, request: Request[AdPath, StepQuery, None]) -> dict[str, Any]:
    """Get an ad's clicks by type and its unique users, for a window and for each step of it."""
    asked = request.query.of(ADS, ("adId", request.path.ad_id))
    found = stats_body(services.analytics, asked, deadline(request))
    if not found["clicks"]:
        services.history.require_ad(request.path.ad_id)
    return found


def top(services: AdsServices, request: Request[None, TopQuery, None]) -> dict[str, Any]:
    """Get the ads with the most clicks in a window, and the totals of all ads."""
    return top_body(services.analytics, request.query.of(ADS), deadline(request))


def stats_body(analytics: Analytics, request: WindowRequest, deadline: Deadline) -> dict[str, Any]:
    """Clicks by type and unique users of the window, and of each step of it.

    Raises:
        InvalidRequest: too many steps.
        StoreUnavailable: the table did not answer before the deadline.
    """
    step = request.step * times.SECOND
    if -(-request.window.end // step) - request.window.start // step > POINTS_LIMIT:
        allowed = f"a step that makes at most {POINTS_LIMIT} of the window"
        detail = FieldError("step", "makes too many steps", request.step, allowed)
        raise InvalidRequest("step makes too many steps of the window", details=[detail])
    frame, whole, points = analytics.steps(request, deadline, _totals)
    listed = [{"from": times.iso(start), **counts} for start, counts in points]
    accuracy = responses.accuracy(request, whole)
    return {**frame, "step": request.step, **_totals(whole), "points": listed, "accuracy": accuracy}


def top_body(analytics: Analytics, request: WindowRequest, deadline: Deadline) -> dict[str, Any]:
    """The ads with the most clicks in the window, those with equal numbers by id, and the totals of all ads.

    Raises:
        StoreUnavailable: the table did not answer before the deadline.
    """
    frame, found = analytics.whole(request, deadline)
    ads = found.tallies[request.scope.attributes.index("adId")].top(request.top)
    top = [{"adId": ad_id, "clicks": clicks} for ad_id, clicks in ads]
    return {**frame, **_totals(found), "topAds": top, "accuracy": responses.accuracy(request, found)}


def _totals(found: Aggregate) -> dict[str, Any]:
    users, types, _ = found.tallies
    return {"clicks": found.total, "uniqueUsers": users.unique(), "types": dict(types.top(TYPES_LIMIT))}
