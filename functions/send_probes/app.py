"""Every minute: one probe through each persist queue, and a check of those of the minute before."""

from __future__ import annotations

from typing import Any

from headrace.bootstrap import queues


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Return what was sent, what was readable and how soon, and what is missing."""
    return queues.prober().run_for(event, context.aws_request_id)
