"""Every minute: one probe through each persist queue, and a look for those of the minute before."""

from __future__ import annotations

from typing import Any

from headrace.probing import send_for


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Say what was sent, what was readable and how soon, and what is missing."""
    return send_for(event, context.aws_request_id)
