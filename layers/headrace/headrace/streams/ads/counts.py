"""Counts of clicks in a window, from the slots of ``headrace.analytics``."""

from __future__ import annotations

from typing import Any

from headrace.analytics import responses
from headrace.analytics.aggregate import Aggregate
from headrace.analytics.requests import WindowRequest
from headrace.analytics.scanner import Deadline
from headrace.analytics.windows import Analytics
from headrace.core import times
from headrace.core.errors import FieldError, InvalidRequest

POINTS_LIMIT = 1500
"""Steps in one answer: 25 hours of minutes, 31 days of hours."""
TYPES_LIMIT = 50
"""Types of one step; beyond, those with the fewest clicks are left out."""


def stats_body(analytics: Analytics, request: WindowRequest, deadline: Deadline) -> dict[str, Any]:
    """Clicks by type and unique users of the window, and of each step of it.

    Raises:
        InvalidRequest: too many steps.
        StoreUnavailable: the table does not answer, or not before the deadline.
    """
    step = request.step * times.SECOND
    if -(-request.window.end // step) - request.window.start // step > POINTS_LIMIT:
        allowed = f"a step that makes at most {POINTS_LIMIT} of the window"
        detail = FieldError("step", "makes too many steps", request.step, allowed)
        raise InvalidRequest("step makes too many steps of the window", details=[detail])
    frame, whole, points = analytics.steps(request, deadline, _counts)
    listed = [{"from": times.iso(start), **counts} for start, counts in points]
    accuracy = responses.accuracy(request, whole)
    return {**frame, "step": request.step, **_counts(whole), "points": listed, "accuracy": accuracy}


def top_body(analytics: Analytics, request: WindowRequest, deadline: Deadline) -> dict[str, Any]:
    """The ads with the most clicks of the window, equal ones by id, and the totals of all ads.

    Raises:
        StoreUnavailable: the table does not answer, or not before the deadline.
    """
    frame, found = analytics.whole(request, deadline)
    ads = found.tallies[request.scope.attributes.index("adId")].top(request.top)
    top = [{"adId": ad_id, "clicks": clicks} for ad_id, clicks in ads]
    return {**frame, **_counts(found), "topAds": top, "accuracy": responses.accuracy(request, found)}


def _counts(found: Aggregate) -> dict[str, Any]:
    users, types, _ = found.tallies
    return {"clicks": found.total, "uniqueUsers": users.unique(), "types": dict(types.top(TYPES_LIMIT))}
