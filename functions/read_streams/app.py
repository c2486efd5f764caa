"""GET routes of declared streams: what they are, pages of events, and windows of time."""

from typing import Any

from headrace.api.paging.request import PageRequest
from headrace.api.params import Params
from headrace.api.router import Route
from headrace.bootstrap.api import http_api
from headrace.core.caller import ANALYTICS_READ, CHAT_READ, EVENTS_WRITE
from headrace.core.errors import HeadraceError, InvalidCursor, NotFound, StoreUnavailable
from headrace.features.analytics.responses import ActiveUsersAnswer
from headrace.features.declared import answers, routes
from headrace.features.declared.openapi import Document
from headrace.features.declared.streams import StreamPath

READ = (ANALYTICS_READ,)
DESCRIBE = (ANALYTICS_READ, EVENTS_WRITE)
FOUND = (NotFound, StoreUnavailable)
STREAM = "GET /streams/{stream}"


def _route(function: Any, query: type[Params], answer: Any, *errors: type[HeadraceError]) -> Route:
    return Route(function, READ, StreamPath, query, answer=answer, errors=(*FOUND, *errors))


ROUTES = {
    "GET /streams": Route(routes.describe, scopes=DESCRIBE, answer=answers.Descriptions),
    f"{STREAM}/events": _route(routes.page, routes.EventsQuery, answers.EventPage, InvalidCursor),
    f"{STREAM}/users/{{userId}}/events": Route(
        routes.user_page,
        (CHAT_READ, ANALYTICS_READ),
        routes.StreamUserPath,
        PageRequest,
        answer=answers.EventPage,
        errors=(*FOUND, InvalidCursor),
    ),
    f"{STREAM}/openapi": Route(routes.openapi, DESCRIBE, StreamPath, answer=Document, errors=(NotFound,)),
    f"{STREAM}/window": _route(routes.window, routes.EventWindowQuery, answers.EventWindow),
    f"{STREAM}/top": _route(routes.top, routes.EventTopQuery, answers.EventTop),
    f"{STREAM}/series": _route(routes.series, routes.EventSeriesQuery, answers.EventSeries),
    f"{STREAM}/active-users": _route(routes.active_users, routes.EventUsersQuery, ActiveUsersAnswer),
}

handler = http_api(ROUTES, routes.services)
