"""The errors that the client raises.

HeadraceError
├── Refused         the platform refuses a request, and would refuse it again
├── NotAccepted     events were not accepted; ``sent`` has the result of each
└── Unavailable     no answer, or a temporary error
    ├── NoToken       the function gives no token
    ├── RateLimited   too many requests
    └── Unreachable   nothing answers at the address
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .calls import Sent

TEMPORARY = frozenset({"unavailable", "rate_limited", "internal", "token_expired"})
"""Codes of errors after which the same request may succeed later."""

GATEWAY_CODES = {401: "unauthorized", 403: "forbidden"}
"""The codes of refusals by API Gateway, whose answers have none."""


class HeadraceError(Exception):
    """Base of the errors that this client raises."""


class Refused(HeadraceError):
    """The platform refused a request, and would refuse it again. ``code`` is the code of the error."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message


class Unavailable(HeadraceError):
    """There is no connection, no answer, or a temporary error: the same request may succeed later.

    ``retry_after`` is the number of seconds to wait, if the platform named one.
    """

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class NoToken(Unavailable):
    """The function that gives the tokens failed, or gave none. Nothing was sent."""


class RateLimited(Unavailable):
    """Too many requests, or too many connections. Another connection would not succeed earlier."""

    def pause(self) -> float:
        """Seconds to wait: ``retry_after`` and a random time, so that clients do not return together."""
        return (self.retry_after or 0.0) + random.uniform(0.0, 1.0)  # noqa: S311


class Unreachable(Unavailable):
    """Nothing answers at the address ``url`` that was given. Only the first connection or request raises it."""

    def __init__(self, message: str, url: str) -> None:
        super().__init__(message)
        self.url = url


class NotAccepted(HeadraceError):
    """Some events were not accepted. ``sent`` has the result of each event, in order."""

    def __init__(self, sent: list[Sent]) -> None:
        errors = [each.error for each in sent if each.error is not None]
        code, message = errors[0].get("code"), explained(errors[0])
        when = " in time" if code in TEMPORARY else ""
        super().__init__(f"{len(errors)} of {len(sent)} events were not accepted{when}; the first: {code}: {message}")
        self.sent = sent


def explained(error: Mapping[str, Any]) -> str:
    """The message of an error, and what is allowed instead of the values that were refused, as far as it says."""
    forms = "; ".join(f"{each['field']}: {each['allowed']}" for each in error.get("details", ()) if "allowed" in each)
    return f"{error.get('message')}{f' (allowed: {forms})' if forms else ''}"


def error_of(error: dict[str, Any]) -> Refused | Unavailable:
    """The exception for an ``error`` object of an answer."""
    if error["code"] not in TEMPORARY:
        return Refused(error["code"], error["message"])
    kind = RateLimited if error["code"] == "rate_limited" else Unavailable
    return kind(error["message"], error.get("retryAfter"))
