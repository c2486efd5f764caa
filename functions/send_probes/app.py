"""Each minute: sends a probe through each persist queue, and checks the probes of the minute before."""

from __future__ import annotations

from typing import Any

from headrace.features.operations.probes import prober


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Return the probes that were sent, those that were readable and how soon, and those that are missing."""
    return prober().run_for(event, context.aws_request_id)
