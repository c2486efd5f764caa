"""HTTP routes of analytics: totals and rates of a window, active users, a series."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from headrace.analytics.requests import StepQuery, TopQuery, WindowQuery
from headrace.analytics.responses import active_users_body, window_body
from headrace.analytics.scanner import Deadline
from headrace.analytics.windows import Analytics
from headrace.api.router import Request

MARGIN_SECONDS = 4.0
"""Reading stops so many seconds before the end of an invocation, to store what was read, and to answer."""


def deadline(request: Request[Any, Any, Any]) -> Deadline:
    """The time to stop reading for ``request``."""
    return Deadline(request.seconds_left - MARGIN_SECONDS)


def window(analytics: Analytics, request: Request[None, TopQuery, None]) -> dict[str, Any]:
    """Totals, rates, unique users, top users and groups of a window."""
    with _measured(analytics, request):
        wanted = request.query.of(analytics.stream)
        head, found = analytics.whole(wanted, deadline(request))
        return {**head, **window_body(wanted, found)}


def active_users(analytics: Analytics, request: Request[None, WindowQuery, None]) -> dict[str, Any]:
    """The number of users who were active in a window."""
    with _measured(analytics, request):
        wanted = request.query.of(analytics.stream)
        head, found = analytics.whole(wanted, deadline(request))
        return {**head, **active_users_body(wanted, found)}


def series(analytics: Analytics, request: Request[None, StepQuery, None]) -> dict[str, Any]:
    """Counts and unique users per step of a window."""
    with _measured(analytics, request):
        return analytics.series(request.query.of(analytics.stream), deadline(request))


@contextmanager
def _measured(analytics: Analytics, request: Request[Any, Any, Any]) -> Iterator[None]:
    """Measure the read units of the answer."""
    before = analytics.scanner.units
    try:
        yield
    finally:
        request.meter.measure("AnalyticsReadUnits", analytics.scanner.units - before)
