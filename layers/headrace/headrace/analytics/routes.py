"""HTTP routes of analytics: totals and rates of a window, active users, a series."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from headrace.analytics.requests import StepQuery, TopQuery, WindowQuery
from headrace.analytics.responses import active_users_body, window_body
from headrace.analytics.scanner import Deadline
from headrace.analytics.windows import Analytics
from headrace.api.router import Request
from headrace.core.stream import Stream

MARGIN_SECONDS = 4.0
"""Reading stops so many seconds before the end of an invocation, to store what was read, and to answer."""


class StreamAnalytics(NamedTuple):
    """The analytics of one stream's events."""

    stream: Stream
    analytics: Analytics


def deadline(request: Request[Any, Any, Any]) -> Deadline:
    """The time to stop reading for ``request``."""
    return Deadline(request.seconds_left - MARGIN_SECONDS)


def window(services: StreamAnalytics, request: Request[None, TopQuery, None]) -> dict[str, Any]:
    """Totals, rates, unique users, top users and groups of a window."""
    with _measured(services, request):
        wanted = request.query.of(services.stream)
        head, found = services.analytics.whole(wanted, deadline(request))
        return {**head, **window_body(wanted, found)}


def active_users(services: StreamAnalytics, request: Request[None, WindowQuery, None]) -> dict[str, Any]:
    """The number of users who were active in a window."""
    with _measured(services, request):
        wanted = request.query.of(services.stream)
        head, found = services.analytics.whole(wanted, deadline(request))
        return {**head, **active_users_body(wanted, found)}


def series(services: StreamAnalytics, request: Request[None, StepQuery, None]) -> dict[str, Any]:
    """Counts and unique users per step of a window."""
    with _measured(services, request):
        return services.analytics.series(request.query.of(services.stream), deadline(request))


@contextmanager
def _measured(services: StreamAnalytics, request: Request[Any, Any, Any]) -> Iterator[None]:
    """Measure the read units of the answer."""
    before = services.analytics.units
    try:
        yield
    finally:
        request.meter.measure("AnalyticsReadUnits", services.analytics.units - before)
