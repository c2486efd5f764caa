"""Reads the event that Lambda's RabbitMQ event source mapping sends."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any

from headrace.core.errors import PoisonRecord


def rabbit_body(record: Mapping[str, Any]) -> bytes:
    """The bytes of a RabbitMQ record.

    Raises:
        PoisonRecord: not_base64.
    """
    try:
        return base64.b64decode(record["data"], validate=True)
    except (KeyError, TypeError, binascii.Error, ValueError):
        raise PoisonRecord("not_base64") from None
