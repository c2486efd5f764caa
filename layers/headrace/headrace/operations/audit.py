"""Logs what operators do with other people's events."""

from __future__ import annotations

from typing import Any

from headrace.core.caller import Caller
from headrace.runtime.observability import logger


def audit(action: str, operator: Caller, **fields: Any) -> None:
    """Log one line: the ``action``, who did it, and ``fields``, such as a filter and counts; no text of an event.

    The level is WARNING, so that a stage which logs no INFO has the line too.
    """
    logger.warning(action, extra={"kind": "audit", "operator": operator.subject, **fields})
