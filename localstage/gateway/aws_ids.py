"""Request ids, facts of APIs, trace ids and times, as API Gateway writes them into its events."""

from __future__ import annotations

import base64
import hashlib
import os
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache

REGION = "us-east-1"

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_BASE36 = "0123456789abcdefghijklmnopqrstuvwxyz"


def new_id() -> str:
    """Return a random id as AWS gives to requests, messages and connections: 15 characters and one ``=``."""
    return base64.urlsafe_b64encode(os.urandom(11)).decode("ascii")


def api_id(logical_id: str) -> str:
    """Return the id of an API: ten lower-case characters, the same at every start."""
    number = int.from_bytes(hashlib.sha256(logical_id.encode()).digest()[:8], "big")
    digits = []
    for _ in range(10):
        number, digit = divmod(number, 36)
        digits.append(_BASE36[digit])
    return "".join(digits)


def trace_id() -> str:
    """Return a value for the ``X-Amzn-Trace-Id`` header."""
    return f"Root=1-{int(time.time()):08x}-{os.urandom(12).hex()}"


def now() -> tuple[int, str]:
    """Return epoch milliseconds, and the time as ``09/Feb/2024:18:23:28 +0000``."""
    millis = time.time_ns() // 1_000_000
    return millis, _access_log_time(millis // 1000)


@lru_cache(maxsize=1)
def _access_log_time(second: int) -> str:
    # strftime's %b follows the locale, AWS does not.
    at = datetime.fromtimestamp(second, UTC)
    return f"{at.day:02d}/{_MONTHS[at.month - 1]}/{at.year}:{at.hour:02d}:{at.minute:02d}:{at.second:02d} +0000"


@dataclass(frozen=True)
class ApiFacts:
    """The fields that all events of one API share: its id, its domain (host:port here), its port and its stage."""

    api_id: str
    domain: str
    port: int
    stage: str = "$default"
