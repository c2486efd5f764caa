"""GET /analytics/window, /analytics/active-users, /analytics/series: totals, rates and unique users of a window."""

from __future__ import annotations

from typing import Any

from headrace.analysing import answer_analytics
from headrace.api.statistics import timed


@timed
def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Answer what was asked of the window."""
    return answer_analytics(event, context.get_remaining_time_in_millis() / 1000)
