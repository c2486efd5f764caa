"""GET /status: lanes, depths, breakers and probes, for operators."""

from __future__ import annotations

from typing import Any

from headrace.api.statistics import timed
from headrace.operating import answer_status


@timed
def handler(event: dict[str, Any], context: object) -> dict[str, Any]:
    """Answer what could be learned in time; what could not is said to be unknown."""
    return answer_status(event)
