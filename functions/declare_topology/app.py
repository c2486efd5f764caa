"""The broker's exchanges and queues: declared when the stack is deployed, and healed on a schedule."""

from __future__ import annotations

from typing import Any

from headrace.bootstrap import queues
from headrace.operations.topology import declare_for


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:
    """Declare what is missing, and report what exists in another form."""
    return declare_for(event, queues.declare_topology)
