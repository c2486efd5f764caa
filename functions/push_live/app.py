"""Live copies from RabbitMQ to the connections that listen. Best effort: what does not arrive is in the history."""

from __future__ import annotations

from typing import Any

from headrace.listening import pusher


def handler(event: dict[str, Any], context: object) -> None:
    """Push the batch; nothing of it ever goes back to the queue."""
    pusher().push(event)
