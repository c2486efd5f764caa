"""Every error that Headrace raises, poison too; :mod:`headrace.api.error_bodies` has how each is answered."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

Lane = Literal["main", "retry", "dead"]

DETAILS_LIMIT = 10
"""How many field errors one error names: a body may have very many unknown fields."""
GOT_LIMIT = 64
"""How many characters of a refused value are sent back."""


@dataclass(frozen=True, slots=True)
class FieldError:
    """An error in one field: ``got`` is the value, shortened by :func:`echo`; ``allowed`` is the accepted form."""

    field: str
    message: str
    got: object = None
    allowed: str | None = None

    def to_body(self) -> dict[str, Any]:
        """The form that responses have."""
        body = {"field": self.field, "message": self.message, "got": self.got, "allowed": self.allowed}
        return {name: value for name, value in body.items() if value is not None}


class HeadraceError(Exception):
    """Base of all; ``message`` is one sentence that may be shown to the caller, by default the first of ``details``."""

    retry_after = 0
    """Seconds after which the same request may succeed; 0: it cannot."""

    def __init__(self, message: str = "", *, details: Iterable[FieldError] = (), retry_after: int = 0) -> None:
        self.details = tuple(details)[:DETAILS_LIMIT]
        self.message = message or " ".join(f"{each.field} {each.message}" for each in self.details[:1])
        super().__init__(self.message)
        if retry_after:
            self.retry_after = retry_after


class UserError(HeadraceError):
    """An error that the caller can correct."""


class InvalidRequest(UserError):
    """The path, query, body or frame is invalid; ``details`` names each wrong field."""


class InvalidCursor(InvalidRequest):
    """The cursor is forged, belongs to another query or caller, or has an older format."""


class InvalidEvent(UserError):
    """An event violates its stream's rules; ``details`` names each field."""


class TooLarge(UserError):
    """The request has more bytes or more events than allowed."""


class UnsupportedMediaType(UserError):
    """The body's content type is not JSON."""


class Unauthorized(UserError):
    """The token is missing or invalid."""


class TokenExpired(UserError):
    """The token has expired."""


class Forbidden(UserError):
    """The token does not allow this."""


class NotFound(UserError):
    """The resource does not exist."""


class Conflict(UserError):
    """The request conflicts with something that exists; it cannot succeed later."""


class RateLimited(UserError):
    """Too many requests; the same one may succeed after ``retry_after`` seconds."""

    retry_after = 1


class Unavailable(HeadraceError):
    """A dependency is unavailable; the same request may succeed after ``retry_after`` seconds."""

    retry_after = 2


class BrokerUnavailable(Unavailable):
    """The broker did not confirm the event."""


class PublishReturned(BrokerUnavailable):
    """The broker confirmed the event, but routed it to no queue: it is not stored."""


class PublishNacked(BrokerUnavailable):
    """The broker refused the event."""


class PublishUnconfirmed(BrokerUnavailable):
    """The broker did not confirm the event within the budget: it may be stored or not."""


class ConnectionLost(BrokerUnavailable):
    """The connection to the broker was refused, lost or never opened."""


class PublisherBlocked(BrokerUnavailable):
    """The broker accepts nothing from publishers now (memory or disk alarm)."""


class StoreUnavailable(Unavailable):
    """The table could not be reached, or refused the call for a transient reason."""


class StoreThrottled(StoreUnavailable):
    """The table throttled the call until the time for retries was over."""


class RetryLaneUnavailable(Unavailable):
    """The retry queue did not accept the record."""


class DeadLaneUnavailable(Unavailable):
    """The dead-letter queue did not answer."""


class SecretsUnavailable(Unavailable):
    """A secret could not be read."""


class CacheUnavailable(Unavailable):
    """The cache is unavailable."""


class FollowUpUnavailable(Unavailable):
    """The event is stored, but a hook on the stored row failed; the hook runs again when the event is stored again."""


class PoisonRecord(HeadraceError):
    """A record that can never be stored. ``reason`` is one of ``POISON_REASONS``."""

    def __init__(self, reason: str, message: str = "", *, details: Iterable[FieldError] = ()) -> None:
        super().__init__(message or reason, details=details)
        self.reason = reason


class ConfigurationError(HeadraceError):
    """A setting is missing or invalid; the message names the variable and its accepted form."""


POISON_REASONS: dict[str, str] = {
    "not_base64": "the record's data is not base64",
    "not_text": "the body is not UTF-8",
    "not_json": "the body is not JSON",
    "not_an_envelope": "the body is JSON, but not an envelope",
    "newer_version": "the envelope is of a newer version than this code reads",
    "unknown_stream": "no stream of that name is declared",
    "unknown_kind": "no event of that kind is declared, or its feature is left out",
    "no_events": "the envelope holds no events",
    "missing_field": "a field that its stream needs is missing",
    "empty_key": "a field that becomes part of a key is empty",
    "invalid_key": "a field that becomes part of a key holds what keys may not hold, or too much",
    "invalid_number": "a number that the table cannot hold",
    "invalid_event": "a field is not of its declared form",
    "item_too_large": "the item is larger than 400 KB",
    "refused_by_store": "the table refuses the item as invalid",
    "not_allowed": "its sender was not in the room, which could not be checked when it was accepted",
}
"""Why a record can never be stored: code to one plain sentence."""

_TOO_LARGE = "a number of more than 64 bits"


def echo(value: object, limit: int = GOT_LIMIT) -> object:
    """``value`` in a form that may be sent back: at most ``limit`` characters, always valid UTF-8."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else _TOO_LARGE
    if isinstance(value, int):
        return value if -(2**63) <= value < 2**63 else _TOO_LARGE
    if isinstance(value, str):
        text = value if len(value) <= limit else value[:limit] + "…"
        return text.encode("utf-8", "replace").decode()
    if isinstance(value, list | tuple):
        return f"an array of {len(value)}"
    if isinstance(value, dict):
        return f"an object with {len(value)} fields"
    return type(value).__name__
