"""Parses and formats times.

Internally, a time is an ``int`` of microseconds since the epoch, or its canonical text ``2025-11-21T10:00:58.722861Z``
(UTC, always six digits, always 27 characters). Canonical texts sort in the order of their times.
"""

from __future__ import annotations

import functools
import os
import re
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Protocol

SECOND = 1_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR
AHEAD_LIMIT, AGE_LIMIT = 5 * MINUTE, DAY
"""How far ahead the time of an event may be when it is accepted, and how old."""
HOUR_LENGTH = 13
"""Characters of an hour, such as 2026-11-27T10, with which each canonical time in it begins."""
ACCEPTED_FORM = (
    "ISO-8601 with a zone, such as 2025-11-21T10:00:58.722861Z, or epoch milliseconds; years 1970 to 9999; "
    "in a URL, + is %2B"
)

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LAST = 253_402_300_799_999_999  # 9999-12-31T23:59:59.999999Z: a later time would have a digit more
LAST_SECOND = _LAST // SECOND
_CANONICAL = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", re.ASCII)
_TOLERATED = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,12})?)?(?:[Zz]|[+-]\d\d:?\d\d)", re.ASCII)
_UUID7 = re.compile(r"([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", re.IGNORECASE)
_MICROSECOND = timedelta(microseconds=1)


class Clock(Protocol):
    """A source of the current time."""

    def now(self) -> int:
        """Microseconds since the epoch, UTC."""


class SystemClock:
    """The machine's clock."""

    def now(self) -> int:
        return time.time_ns() // 1000


def iso(micros: int) -> str:
    """The canonical text of ``micros`` (0 to the end of the year 9999).

    Raises:
        ValueError: out of range.
    """
    if not 0 <= micros <= _LAST:
        raise ValueError(f"the time must be {ACCEPTED_FORM}")
    second, fraction = divmod(micros, SECOND)
    return f"{_iso_second(second)}.{fraction:06d}Z"


@functools.lru_cache(maxsize=1024)
def _iso_second(second: int) -> str:
    return (_EPOCH + timedelta(seconds=second)).isoformat()[:19]


def is_canonical(text: str) -> bool:
    """Whether ``text`` is a real time in canonical form."""
    if len(text) != 27 or not _CANONICAL.fullmatch(text):
        return False
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return text >= "1970"


def parse_iso(text: str) -> int:
    """Microseconds since the epoch of an ISO-8601 text with a zone; digits beyond the sixth are cut off.

    Raises:
        ValueError: not of ``ACCEPTED_FORM``.
    """
    if len(text) > 48 or not _TOLERATED.fullmatch(text):
        raise ValueError(f"the time must be {ACCEPTED_FORM}")
    try:
        micros = (datetime.fromisoformat(text.upper()) - _EPOCH) // _MICROSECOND
    except (ValueError, OverflowError):
        raise ValueError(f"the time must be {ACCEPTED_FORM}") from None
    if not 0 <= micros <= _LAST:
        raise ValueError(f"the time must be {ACCEPTED_FORM}")
    return micros


def parse(value: object) -> str:
    """The canonical text of an ISO-8601 text with a zone, or of epoch milliseconds: an ``int`` or its digits.

    Raises:
        ValueError: not of ``ACCEPTED_FORM``.
    """
    if isinstance(value, str):
        if value.isascii() and value.isdigit() and len(value) <= 15:
            return iso(int(value) * 1000)
        return value if is_canonical(value) else iso(parse_iso(value))
    if isinstance(value, int) and not isinstance(value, bool):
        return iso(value * 1000)
    raise ValueError(f"the time must be {ACCEPTED_FORM}")


def micros_of(canonical: str) -> int:
    """Microseconds since the epoch of a canonical text.

    Raises:
        ValueError: not a time.
    """
    return (datetime.fromisoformat(canonical) - _EPOCH) // _MICROSECOND


def uuid7_micros(text: str) -> int | None:
    """The time in a UUIDv7 (milliseconds, as microseconds since the epoch), or ``None`` if ``text`` is not one."""
    if len(text) != 36 or text[14] != "7":
        return None
    match = _UUID7.fullmatch(text)
    return int(match[1] + match[2], 16) * 1000 if match else None


def new_message_id(micros: int) -> str:
    """A new UUIDv7 whose time is ``micros``."""
    digits = os.urandom(10).hex()
    stamp = f"{micros // 1000:012x}"
    variant = "89ab"[int(digits[3], 16) & 3]
    return f"{stamp[:8]}-{stamp[8:]}-7{digits[:3]}-{variant}{digits[4:7]}-{digits[7:19]}"


@dataclass(frozen=True, slots=True)
class Interval:
    """When a user was in a room: [``joined_at``, ``left_at``) in canonical times; ``None``: still a member."""

    joined_at: str
    left_at: str | None

    def covers(self, timestamp: str) -> bool:
        """Whether ``timestamp`` (canonical) is in it."""
        return self.joined_at <= timestamp and (self.left_at is None or timestamp < self.left_at)
