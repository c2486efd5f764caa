"""Pushes live copies from RabbitMQ to the connections that subscribe to their rooms. Best effort."""

from __future__ import annotations

from typing import Any

from headrace.bootstrap.live import push_service


def handler(event: dict[str, Any], context: Any) -> None:
    """Push the batch. No message returns to the queue; history has all of them."""
    push_service().push(event, context.aws_request_id)
