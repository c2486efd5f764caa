"""Rows as plain Python values, when they expire, and DynamoDB's limits on them.

Values are ``str``, ``int``, ``Decimal``, ``bool``, ``None``, ``list``, ``dict``, and sets of ``str`` or of ``int``.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from headrace.core import times
from headrace.core.errors import FieldError, PoisonRecord, echo
from headrace.core.keys import PARTITION_KEY_BYTES, SORT_KEY_BYTES
from headrace.core.times import AGE_LIMIT

Item = dict[str, Any]

ITEM_BYTES = 400 * 1024
_NUMBER_DIGITS = 38
_SURELY_SMALL = ITEM_BYTES // 8


def expires_at(timestamp: str, accepted_at: int, retention_days: int) -> int:
    """When the row of an event expires, in epoch seconds: at least ``retention_days`` after it was accepted.

    The days count from 24 hours after the event's time, until when it may be sent, so that sending it again changes
    nothing (P3). For an event that was older when it was accepted (a replayed log), they count from its acceptance.
    """
    return (max(times.micros_of(timestamp) + AGE_LIMIT, accepted_at) + retention_days * times.DAY) // times.SECOND


def is_expired(row: Mapping[str, Any], now: int) -> bool:
    """Whether a row has expired at ``now`` (microseconds), which DynamoDB deletes days later."""
    seconds = now // times.SECOND
    return bool(row.get("expiresAt", seconds + 1) <= seconds)


def check(item: Item, partition_key: str, sort_key: str | None = None) -> None:
    """Check that DynamoDB accepts ``item``: its key, its numbers and its size.

    Raises:
        PoisonRecord: empty_key, invalid_key, invalid_number or item_too_large.
    """
    _check_key(item, partition_key, PARTITION_KEY_BYTES)
    if sort_key is not None:
        _check_key(item, sort_key, SORT_KEY_BYTES)
    characters = 0
    for name, value in item.items():
        if type(value) is str:
            characters += len(value)
        else:
            characters += 64 if type(value) is int and -(10**18) < value < 10**18 else _size(name, value)
    # A character takes at most four bytes, and names are short: only a large item needs its exact size.
    if characters > _SURELY_SMALL and (size := size_of(item)) > ITEM_BYTES:
        raise PoisonRecord("item_too_large", f"the item has {size} bytes, at most {ITEM_BYTES} are allowed")


def _check_key(item: Item, name: str, limit: int) -> None:
    value = item.get(name)
    if value is None or value == "":
        raise PoisonRecord("empty_key", details=[FieldError(name, "is empty")])
    if isinstance(value, str) and len(value) * 4 > limit and len(value.encode()) > limit:
        raise PoisonRecord("invalid_key", details=[FieldError(name, "is too long", echo(value), f"{limit} bytes")])


def _check_number(name: str, number: Decimal) -> None:
    # Not normalize(): it rounds to the context's precision.
    digits = "".join(map(str, number.as_tuple().digits)).strip("0")
    if not number.is_finite() or len(digits) > _NUMBER_DIGITS or not -130 <= number.adjusted() <= 125:
        allowed = f"at most {_NUMBER_DIGITS} digits, from 1E-130 to 9.9E+125"
        detail = FieldError(name, "is not a number that a table can hold", None, allowed)
        raise PoisonRecord("invalid_number", details=[detail])


def size_of(item: Mapping[str, Any]) -> int:
    """The size of ``item`` in bytes as DynamoDB counts it, rounded up where its rule is not exact.

    Raises:
        PoisonRecord: it holds a number or a value that DynamoDB has no form for.
    """
    return sum(len(name.encode()) + _size(name, value) for name, value in item.items())


def _size(name: str, value: Any) -> int:
    match value:
        case str():
            return len(value.encode())
        case bool() | None:
            return 1
        case int() | Decimal():
            _check_number(name, Decimal(value))
            return 21
        case dict():
            return 3 + sum(1 + len(key.encode()) + _size(name, part) for key, part in value.items())
        case list() | tuple() | set() | frozenset():
            return 3 + sum(1 + _size(name, part) for part in value)
    raise PoisonRecord("invalid_event", details=[FieldError(name, f"holds a {type(value).__name__}")])
