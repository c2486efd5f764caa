"""How errors and results of events are answered, in both protocols."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from headrace.core.errors import (
    Conflict,
    Forbidden,
    HeadraceError,
    InvalidCursor,
    InvalidEvent,
    Lane,
    NotFound,
    PoisonRecord,
    RateLimited,
    TokenExpired,
    TooLarge,
    Unauthorized,
    Unavailable,
    UnsupportedMediaType,
    UserError,
)

_HIDDEN = "something went wrong on our side; it has been logged"


class ErrorMapping(NamedTuple):
    """How an error is answered: its ``code`` in the error bodies of both protocols, and the HTTP status."""

    code: str
    status: int


ERROR_MAPPINGS: dict[type[BaseException], ErrorMapping] = {
    HeadraceError: ErrorMapping("internal", 500),
    UserError: ErrorMapping("invalid_request", 400),
    InvalidCursor: ErrorMapping("invalid_cursor", 400),
    InvalidEvent: ErrorMapping("invalid_event", 400),
    TooLarge: ErrorMapping("too_large", 413),
    UnsupportedMediaType: ErrorMapping("unsupported_media_type", 415),
    Unauthorized: ErrorMapping("unauthorized", 401),
    TokenExpired: ErrorMapping("token_expired", 401),
    Forbidden: ErrorMapping("forbidden", 403),
    NotFound: ErrorMapping("not_found", 404),
    Conflict: ErrorMapping("conflict", 409),
    RateLimited: ErrorMapping("rate_limited", 429),
    Unavailable: ErrorMapping("unavailable", 503),
    PoisonRecord: ErrorMapping("poison", 422),
}
"""An error without an entry has that of its base class."""


def mapping_of(error: BaseException) -> ErrorMapping:
    """The mapping of ``error``; any other exception than Headrace's is ``internal``."""
    rows = (ERROR_MAPPINGS.get(kind) for kind in type(error).__mro__)
    return next((row for row in rows if row is not None), ERROR_MAPPINGS[HeadraceError])


def to_body(error: BaseException, correlation_id: str = "") -> dict[str, Any]:
    """The body of every error: ``{"code", "message", "details", "retryAfter"?, "correlationId"?}``.

    An internal error shows its code, and never its message. The error of a whole request has the correlation id of its
    log lines.
    """
    known = mapping_of(error)
    details = [detail.to_body() for detail in error.details] if isinstance(error, HeadraceError) else []
    body: dict[str, Any] = {"code": known.code, "message": _HIDDEN, "details": []}
    if known.status != 500 and isinstance(error, HeadraceError):
        body |= {"message": error.message, "details": details}
        if error.retry_after:
            body["retryAfter"] = error.retry_after
    if correlation_id:
        body["correlationId"] = correlation_id
    return body


@dataclass(slots=True)
class Result:
    """The result of one event: the ``lane`` it is in, or the ``error`` that refused it.

    ``receipt`` is its id, time and other fields of the answer; for an invalid event the id that was sent, if any.
    """

    receipt: Mapping[str, str]
    lane: Lane | None = None
    error: HeadraceError | None = None

    def to_body(self) -> dict[str, Any]:
        """The form in which responses show it."""
        if self.error is not None:
            return {**self.receipt, "error": to_body(self.error)}
        return {**self.receipt, "lane": self.lane}
