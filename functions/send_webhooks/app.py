"""Sends webhooks from their queue to the URL of the operator."""

from __future__ import annotations

from typing import Any

from headrace.features.tell.webhooks import webhooks


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Send the batch. The result names the messages that SQS keeps for another try."""
    return webhooks().send(event, context.aws_request_id)
