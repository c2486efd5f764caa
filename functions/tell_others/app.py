"""Tells a queue or bus of the operator what was stored, from the streams of the tables."""

from __future__ import annotations

from typing import Any

from headrace.features.tell.teller import teller


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Tell the batch. The result names the first record that is to come again."""

    def remaining() -> float:
        return float(context.get_remaining_time_in_millis()) / 1000

    return teller().tell(event, remaining, context.aws_request_id)
