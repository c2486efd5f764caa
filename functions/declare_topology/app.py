"""Declares the broker's exchanges and queues when the stack is deployed, and repairs them on a schedule."""

from __future__ import annotations

from typing import Any

from headrace.bootstrap.topology import declare_topology
from headrace.queues.rabbitmq.topology_resource import declare_for


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Declare what is missing, and report exchanges and queues that exist with other properties."""
    return declare_for(event, declare_topology, context.aws_request_id)
