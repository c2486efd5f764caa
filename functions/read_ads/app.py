"""GET routes of ad clicks: the clicks of an ad and of a user, an ad's counts by step, and the top ads."""

from __future__ import annotations

from headrace.api.paging.request import PageRequest
from headrace.api.params import UserPath
from headrace.api.router import Route
from headrace.bootstrap.api import http_api
from headrace.core.caller import ANALYTICS_READ, CHAT_READ
from headrace.core.errors import InvalidCursor, NotFound, StoreUnavailable
from headrace.features.ads.routes import (
    AdPath,
    ClickPage,
    StatsAnswer,
    TopAnswer,
    ad_clicks,
    ads_services,
    stats,
    top,
    user_clicks,
)
from headrace.features.analytics.requests import StepQuery, TopQuery

READ = (ANALYTICS_READ,)
PAGE_ERRORS = (InvalidCursor, StoreUnavailable)

ROUTES = {
    "GET /ads/{adId}/clicks": Route(
        ad_clicks, scopes=READ, path=AdPath, query=PageRequest, answer=ClickPage, errors=(*PAGE_ERRORS, NotFound)
    ),
    "GET /users/{userId}/clicks": Route(
        user_clicks,
        scopes=(CHAT_READ, ANALYTICS_READ),
        path=UserPath,
        query=PageRequest,
        answer=ClickPage,
        errors=PAGE_ERRORS,
    ),
    "GET /ads/{adId}/stats": Route(
        stats, scopes=READ, path=AdPath, query=StepQuery, answer=StatsAnswer, errors=(StoreUnavailable, NotFound)
    ),
    "GET /ads/top": Route(top, scopes=READ, query=TopQuery, answer=TopAnswer, errors=(StoreUnavailable,)),
}

handler = http_api(ROUTES, ads_services)
