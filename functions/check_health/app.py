"""GET /health: whether events are accepted and history can be read."""

from __future__ import annotations

from typing import Any

from headrace.api import responses
from headrace.api.statistics import timed
from headrace.checks import health


@timed
def handler(event: dict[str, Any], context: object) -> dict[str, Any]:
    """Answer 200 while both can be done, else 503; the body says which part is away."""
    status, body = health().answer()
    return responses.http(status, body)
