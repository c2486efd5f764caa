"""The routes of ad clicks: of an ad, of a user, per step of a window, and the ads with the most."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic import Field
from typing_extensions import TypedDict

from headrace.analytics.requests import StepQuery, TopQuery
from headrace.analytics.responses import Accuracy, Answer
from headrace.analytics.routes import deadline
from headrace.analytics.windows import Analytics
from headrace.api.paging.request import PageRequest
from headrace.api.params import Params
from headrace.api.router import Request
from headrace.core.fields import Id
from headrace.core.keys import ID_FORM
from headrace.streams.ads.counts import stats_body, top_body
from headrace.streams.ads.history import ClickHistory
from headrace.streams.ads.stream import AD_ID_FORM, ADS, AdId


class AdPath(Params):
    """An ad."""

    refusal = "{field} is not a usable id"

    ad_id: AdId = Field(description=AD_ID_FORM)


class UserPath(Params):
    """A user."""

    refusal = "{field} is not a usable id"

    user_id: Id = Field(description=ID_FORM)


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
    """Clicks of an ad by type, and unique users: of the window, and of each step of it."""

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
    """The ads with the most clicks of a window, and the totals of all ads."""

    clicks: int
    uniqueUsers: int
    types: dict[str, int]
    topAds: list[TopAd]
    accuracy: Accuracy


@dataclass(frozen=True, slots=True)
class AdsServices:
    """The services of the routes: pages come from ``history``, counts from ``analytics``."""

    history: ClickHistory
    analytics: Analytics


def ad_clicks(services: AdsServices, request: Request[AdPath, PageRequest, None]) -> str:
    """A page of the clicks on an ad."""
    return services.history.ad(request.caller, request.path.ad_id, request.query).text()


def user_clicks(services: AdsServices, request: Request[UserPath, PageRequest, None]) -> str:
    """A page of the clicks of a user; the clicks of others need ``analytics:read``."""
    return services.history.user(request.caller, request.path.user_id, request.query).text()


def stats(services: AdsServices, request: Request[AdPath, StepQuery, None]) -> dict[str, Any]:
    """Clicks of an ad by type, and unique users, per step of a window."""
    asked = request.query.of(ADS, ("adId", request.path.ad_id))
    return stats_body(services.analytics, asked, deadline(request))


def top(services: AdsServices, request: Request[None, TopQuery, None]) -> dict[str, Any]:
    """The ads with the most clicks of a window."""
    return top_body(services.analytics, request.query.of(ADS), deadline(request))
