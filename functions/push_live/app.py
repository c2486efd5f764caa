"""Live copies from RabbitMQ to the connections that subscribe to their rooms. Best effort: history has everything."""

from __future__ import annotations

from typing import Any

from headrace.bootstrap.push import push_service


def handler(event: dict[str, Any], context: object) -> None:
    """Push the batch; nothing of it goes back to the queue."""
    push_service().push(event)
