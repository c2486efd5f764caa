"""GET /analytics/…: totals, rates and unique users of any window of chat messages."""

from __future__ import annotations

from headrace.api.router import Route
from headrace.bootstrap.api import http_api
from headrace.core.caller import ANALYTICS_READ
from headrace.core.errors import StoreUnavailable
from headrace.features.analytics.reading import chat_analytics
from headrace.features.analytics.requests import StepQuery, TopQuery, WindowQuery, filtered
from headrace.features.analytics.responses import ActiveUsersAnswer, SeriesAnswer, WindowAnswer
from headrace.features.analytics.windows import active_users, series, window
from headrace.streams.chat.stream import CHAT

ROUTES = {
    "GET /analytics/window": Route(
        window,
        scopes=(ANALYTICS_READ,),
        query=filtered(TopQuery, CHAT),
        answer=WindowAnswer,
        errors=(StoreUnavailable,),
    ),
    "GET /analytics/active-users": Route(
        active_users,
        scopes=(ANALYTICS_READ,),
        query=filtered(WindowQuery, CHAT),
        answer=ActiveUsersAnswer,
        errors=(StoreUnavailable,),
    ),
    "GET /analytics/series": Route(
        series,
        scopes=(ANALYTICS_READ,),
        query=filtered(StepQuery, CHAT),
        answer=SeriesAnswer,
        errors=(StoreUnavailable,),
    ),
}

handler = http_api(ROUTES, chat_analytics)
