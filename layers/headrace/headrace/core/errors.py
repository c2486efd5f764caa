"""Every error that Headrace raises; ``ERROR_MAPPINGS`` says what a caller sees and where a record goes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

Lane = Literal["main", "retry", "dead"]

GOT_LIMIT = 64
"""Characters of an offending value that are sent back."""


@dataclass(frozen=True, slots=True)
class FieldError:
    """What is wrong with one field: ``got`` is bounded by :func:`echo`, ``allowed`` says the accepted form."""

    field: str
    message: str
    got: object = None
    allowed: str | None = None

    def to_body(self) -> dict[str, Any]:
        """The form in which responses show it."""
        body = {"field": self.field, "message": self.message, "got": self.got, "allowed": self.allowed}
        return {name: value for name, value in body.items() if value is not None}


class HeadraceError(Exception):
    """Base of all; ``message`` is one sentence that may be shown to the caller."""

    retry_after = 0
    """Seconds after which the same request may succeed; 0: it cannot."""

    def __init__(self, message: str = "", *, details: Iterable[FieldError] = (), retry_after: int = 0) -> None:
        super().__init__(message)
        self.message = message
        self.details = tuple(details)
        if retry_after:
            self.retry_after = retry_after


class UserError(HeadraceError):
    """The caller can put it right."""


class InvalidRequest(UserError):
    """The frame, body or query as a whole is not usable."""


class InvalidCursor(InvalidRequest):
    """The cursor is forged, belongs to another query or caller, or is of an older form."""


class InvalidEvent(UserError):
    """One event breaks its stream's rules; ``details`` names each field."""


class TooLarge(UserError):
    """More bytes or more events than one request may carry."""


class Unauthorized(UserError):
    """No token, or one that cannot be trusted."""


class TokenExpired(UserError):
    """The token has expired."""


class Forbidden(UserError):
    """The token does not allow this."""


class NotFound(UserError):
    """There is no such thing."""


class Conflict(UserError):
    """It conflicts with something that exists: the same request cannot succeed later."""


class RateLimited(UserError):
    """Too many requests; the same one may succeed after ``retry_after`` seconds."""

    retry_after = 1


class Unavailable(HeadraceError):
    """Something that Headrace needs is unavailable; the same request may succeed after ``retry_after`` seconds."""

    retry_after = 2


class BrokerUnavailable(Unavailable):
    """The broker did not confirm the event."""


class PublishReturned(BrokerUnavailable):
    """Confirmed, but routed to no queue, so it is not stored."""


class PublishNacked(BrokerUnavailable):
    """The broker refused it."""


class PublishUnconfirmed(BrokerUnavailable):
    """No answer within the budget: the broker may have it or not."""


class ConnectionLost(BrokerUnavailable):
    """The connection was refused, cut or never opened."""


class PublisherBlocked(BrokerUnavailable):
    """The broker takes nothing from publishers now (memory or disk alarm)."""


class StoreUnavailable(Unavailable):
    """The table could not be reached, or refused for a reason that may pass."""


class StoreThrottled(StoreUnavailable):
    """Not taken within the time given to retries."""


class RetryLaneUnavailable(Unavailable):
    """The retry queue did not take it."""


class DeadLaneUnavailable(Unavailable):
    """The dead-letter queue did not answer."""


class SecretsUnavailable(Unavailable):
    """A secret could not be read."""


class CacheUnavailable(Unavailable):
    """The cache is unavailable; answers come from the table."""


class FollowUpUnavailable(Unavailable):
    """The event is stored, but a hook on the stored row failed; the hook runs again when the event is stored again."""


class PoisonRecord(HeadraceError):
    """A record that can never be stored. ``reason`` is one of ``POISON_REASONS``."""

    def __init__(self, reason: str, message: str = "", *, details: Iterable[FieldError] = ()) -> None:
        super().__init__(message or reason, details=details)
        self.reason = reason


class ConfigurationError(HeadraceError):
    """A setting is missing or not of its accepted form; the message names the variable and the form."""


POISON_REASONS: dict[str, str] = {
    "not_base64": "the record's data is not base64",
    "not_text": "the body is not UTF-8",
    "not_json": "the body is not JSON",
    "not_an_envelope": "the body is JSON, but not an envelope",
    "newer_version": "the envelope is of a newer version than this code reads",
    "unknown_stream": "no stream of that name is declared",
    "no_events": "the envelope holds no events",
    "missing_field": "a field that its stream needs is missing",
    "empty_key": "a field that becomes part of a key is empty",
    "invalid_key": "a field that becomes part of a key holds what keys may not hold, or too much",
    "invalid_number": "a number that the table cannot hold",
    "invalid_event": "a field is not of its declared form",
    "item_too_large": "the item is over 400 KB",
    "refused_by_store": "the table refuses the item as invalid",
    "not_allowed": "its sender was not in the room, which could not be checked when it was accepted",
}
"""Why a record can never be stored: code to one plain sentence."""


@dataclass(frozen=True, slots=True)
class ErrorMapping:
    """What becomes of an error.

    ``code`` is in both protocols' error bodies (it is also the WebSocket code: frames have no status),
    ``status`` is HTTP's, ``lane`` is where the event or record goes (``None``: nowhere, its sender gets the error),
    ``retryable`` says whether the same thing may succeed later.
    """

    code: str
    status: int
    lane: Lane | None
    retryable: bool


ERROR_MAPPINGS: dict[type[BaseException], ErrorMapping] = {
    HeadraceError: ErrorMapping("internal", 500, None, False),
    UserError: ErrorMapping("invalid_request", 400, None, False),
    InvalidCursor: ErrorMapping("invalid_cursor", 400, None, False),
    InvalidEvent: ErrorMapping("invalid_event", 400, None, False),
    TooLarge: ErrorMapping("too_large", 413, None, False),
    Unauthorized: ErrorMapping("unauthorized", 401, None, False),
    TokenExpired: ErrorMapping("token_expired", 401, None, False),
    Forbidden: ErrorMapping("forbidden", 403, None, False),
    NotFound: ErrorMapping("not_found", 404, None, False),
    Conflict: ErrorMapping("conflict", 409, None, False),
    RateLimited: ErrorMapping("rate_limited", 429, None, True),
    Unavailable: ErrorMapping("unavailable", 503, "retry", True),
    RetryLaneUnavailable: ErrorMapping("unavailable", 503, None, True),
    DeadLaneUnavailable: ErrorMapping("unavailable", 503, None, True),
    CacheUnavailable: ErrorMapping("unavailable", 503, None, True),
    PoisonRecord: ErrorMapping("poison", 422, "dead", False),
}
"""An error without a row has that of its base class."""

_HIDDEN = "something went wrong on our side; it has been logged"


def mapping_of(error: BaseException) -> ErrorMapping:
    """What becomes of ``error``; one that is not Headrace's is ``internal``."""
    rows = (ERROR_MAPPINGS.get(kind) for kind in type(error).__mro__)
    return next((row for row in rows if row is not None), ERROR_MAPPINGS[HeadraceError])


def to_body(error: BaseException) -> dict[str, Any]:
    """The one error shape: ``{"code", "message", "details", "retryAfter"?}``.

    An error that is the platform's own fault shows its code only, never its text.
    """
    known = mapping_of(error)
    details = [detail.to_body() for detail in error.details] if isinstance(error, HeadraceError) else []
    if known.status == 500 or not isinstance(error, HeadraceError):
        return {"code": known.code, "message": _HIDDEN, "details": []}
    body: dict[str, Any] = {"code": known.code, "message": error.message, "details": details}
    if error.retry_after:
        body["retryAfter"] = error.retry_after
    return body


def echo(value: object, limit: int = GOT_LIMIT) -> object:
    """``value`` as it may be sent back: at most ``limit`` characters, and always encodable as UTF-8."""
    if value is None or isinstance(value, bool | float):
        return value
    if isinstance(value, int):
        return value if -(2**63) <= value < 2**63 else "a number of more than 64 bits"
    if isinstance(value, str):
        text = value if len(value) <= limit else value[:limit] + "…"
        return text.encode("utf-8", "replace").decode()
    if isinstance(value, list | tuple):
        return f"an array of {len(value)}"
    if isinstance(value, dict):
        return f"an object with {len(value)} fields"
    return type(value).__name__
