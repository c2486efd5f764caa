"""Stores the events of both lanes: batches from RabbitMQ and from SQS."""

from __future__ import annotations

from typing import Any

from headrace.bootstrap.persister import persister


def handler(event: dict[str, Any], context: Any) -> dict[str, Any] | None:
    """Store the batch. For SQS, the result names the records that stay in the queue; RabbitMQ gets no result."""

    def remaining() -> float:
        return float(context.get_remaining_time_in_millis()) / 1000

    if event.get("eventSource") == "aws:rmq":
        persister().main_lane(event, remaining, context.aws_request_id)
        return None
    return persister().retry_lane(event, remaining, context.aws_request_id)
