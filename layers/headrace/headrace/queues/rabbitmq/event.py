"""Records of the event that Lambda's RabbitMQ event source mapping sends."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

from headrace.core.envelope import CORRELATION_ID, correlation_attribute
from headrace.core.errors import PoisonRecord


def rabbit_body(record: Mapping[str, Any]) -> bytes:
    """The bytes of a record.

    Raises:
        PoisonRecord: not_base64.
    """
    try:
        return base64.b64decode(record["data"], validate=True)
    except (KeyError, TypeError, ValueError):
        raise PoisonRecord("not_base64") from None


def rabbit_correlation_id(record: Mapping[str, Any]) -> str:
    """The correlation id in the AMQP properties of a record; empty for an unusable one."""
    given = (record.get("basicProperties") or {}).get("correlationId")
    return correlation_attribute(given).get(CORRELATION_ID, "")
